/** Whether a speaker is somebody's name, and not what they are in the conversation. */
export function isPerson(speaker: string | undefined): speaker is string {
  return speaker !== undefined && speaker !== "user" && speaker !== "assistant";
}
