import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { SearchScope } from "../../config/settings.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { oneLine } from "../render/printable.ts";
import { openInBrowser } from "../terminal/open-in-browser.ts";
import { printFailure } from "../terminal/print.ts";
import { writeNew } from "../terminal/write-new.ts";
import { findExisting, findSession } from "./find-session.ts";
import { countFlag, SESSION_ARGUMENT, scopeFlag } from "./flags.ts";
import { COUNTS_TOOLS } from "./run-flags.ts";
import { withService } from "./with-service.ts";

interface InspectFlags {
  readonly port: number;
  readonly open: boolean;
  readonly write?: true;
  readonly export?: string;
  readonly scope: SearchScope;
}

/** `rkat inspect`. The page is there until Ctrl-C. */
export function inspectCommand(program: Command, context: CliContext): void {
  const { terminal, version } = context;
  const inspect = program
    .command("inspect")
    .argument("[session]", `the session to begin with: ${SESSION_ARGUMENT}`)
    .option("--port <n>", "the port to listen on; 0 takes a free one", countFlag(65_535), 0)
    .option("--no-open", "only print the link, and open no browser")
    .option("--export <file>", "write the session as one HTML file, without credentials, instead")
    .addOption(
      new Option(
        "--write",
        "let the page change something: forget, pin, answer approvals",
      ).conflicts("export"),
    )
    .addOption(scopeFlag("show this project, the user-wide store ~/.rkat, or both").default("all"))
    .action(async (name: string | undefined, flags: InspectFlags) => {
      const { port, open, write = false, scope } = flags;
      await withService(
        context,
        inspect,
        async (service, { folder }) => {
          const session = name === undefined ? undefined : await findExisting(service, name);
          if (flags.export !== undefined) {
            await exportTo(
              flags.export,
              service,
              session ?? (await findSession(service, "last")),
              context,
            );
            return;
          }
          const { serveInspect } = await import("../../surfaces/inspect/serve-inspect.ts");
          const token = newToken();
          await terminal.interruptible(async (signal) => {
            const server = await serveInspect({
              service,
              version,
              port,
              token,
              write,
              project: folder,
              check: async () => (await import("./doctor-command.ts")).findAll(context, inspect),
              onError: (error) => void printFailure(terminal, SessionError.from(error)),
            });
            context.warnings.goOn();
            const link = `${server.url}/#${new URLSearchParams(given({ token, session }))}`;
            await terminal.stderr.write(
              `${write ? "The page may change something." : "The page only reads."} It shows ${oneLine(folder, 200)} at\n\n  ${link}\n\nThe link has a token: who has it sees what is there. Press Ctrl-C to stop.\n`,
            );
            const close = open ? await openInBrowser(link, terminal) : async () => {};
            await aborted(signal);
            await close();
            await server.close();
          });
        },
        {
          access: write ? "serve" : "show",
          scope,
          ...COUNTS_TOOLS,
        },
      );
    });
}

async function exportTo(
  file: string,
  service: SessionService,
  sessionId: string,
  { terminal, version }: CliContext,
): Promise<void> {
  const { exportPage } = await import("../../surfaces/inspect/export-page.ts");
  const { html, events, redacted } = await exportPage(service, sessionId, version);
  writeNew(resolve(terminal.cwd, file), html);
  const kinds = Object.entries(redacted).map(([kind, count]) => `${count} × ${kind}`);
  const replaced =
    kinds.length > 0 ? `Replaced in it: ${kinds.join(", ")}.` : "No credential was found in it.";
  await terminal.stdout.write(
    `Wrote ${oneLine(file, 200)} with ${plural(events, "event")}. ${replaced} Read it before you pass it on.\n`,
  );
}

/** A random token. It ends with the command. */
export function newToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
}
