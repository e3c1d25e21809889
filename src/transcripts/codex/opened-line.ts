import { isObject } from "../../core/fields.ts";
import { type Json, objectOf, textOf, timeOf } from "../json-fields.ts";

export const ENVELOPES = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "inter_agent_communication",
  "inter_agent_communication_metadata",
  "world_state",
  "security_risk_score",
  "realtime_item",
]);

export function isEnvelope(value: Json): boolean {
  return isObject(value.payload) && typeof value.type === "string";
}

/** The first line of the earliest files: `{"id", "timestamp", "instructions", "git"}`. */
export function isBareHead(value: Json): boolean {
  return (
    typeof value.id === "string" &&
    typeof value.timestamp === "string" &&
    value.type === undefined &&
    ("instructions" in value || "git" in value)
  );
}

interface Opened {
  readonly type: string;
  readonly payload: Json;
  readonly time: string | undefined;
}

export function opened(value: Json): Opened {
  const time = timeOf(value.timestamp);
  if (isEnvelope(value))
    return { type: textOf(value.type), payload: objectOf(value.payload), time };
  if (value.record_type === "state") return { type: "state", payload: value, time };
  return { type: isBareHead(value) ? "session_meta" : "response_item", payload: value, time };
}
