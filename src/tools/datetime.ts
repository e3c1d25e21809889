import { z } from "zod";
import { type Tool, ToolError, toolOf } from "../core/tool.ts";

const INPUT = z.object({
  time_zone: z
    .string()
    .optional()
    .describe("IANA name such as Europe/Berlin; the machine's own when left out."),
});

/** Gives the model the current date and time. */
export function datetimeTool(now: () => Date = () => new Date()): Tool {
  return toolOf({
    name: "datetime",
    description: "The current date and time, in UTC and in a time zone.",
    input: INPUT,
    execute({ time_zone }) {
      const date = now();
      try {
        const format = new Intl.DateTimeFormat("en-GB", {
          dateStyle: "full",
          timeStyle: "long",
          ...(time_zone ? { timeZone: time_zone } : {}),
        });
        const { timeZone } = format.resolvedOptions();
        return { utc: date.toISOString(), local: format.format(date), time_zone: timeZone };
      } catch (cause) {
        throw new ToolError("invalid_arguments", `There is no time zone "${time_zone}".`, {
          cause,
        });
      }
    },
  });
}
