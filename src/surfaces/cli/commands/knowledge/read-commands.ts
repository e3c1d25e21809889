import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import type { SearchScope } from "../../../../config/settings.ts";
import { hasStore } from "../../../../config/workspace.ts";
import { SessionError } from "../../../../core/errors.ts";
import { given } from "../../../../core/fields.ts";
import {
  KNOWLEDGE_KINDS,
  type KnowledgeEntry,
  type KnowledgeKind,
} from "../../../../core/knowledge.ts";
import { knowledgeEntry } from "../../../../core/results.ts";
import type { SessionService } from "../../../../core/session-service.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderEntries, renderEntry } from "../../render/render-knowledge.ts";
import { styleFor } from "../../render/style.ts";
import { printJson, printText } from "../../terminal/print.ts";
import { changedIn } from "../find-session.ts";
import { countFlag } from "../flags.ts";
import { withService, workspaceOf } from "../with-service.ts";

const LIMIT_DEFAULT = 50;
const SEARCHED_MAX = 1000;

/** How a command line names an entry. */
export const ENTRY_ARGUMENT = "its id, or a part of the id";

interface ListFlags {
  readonly scope?: Scope;
  readonly kind?: KnowledgeKind;
  readonly tag?: string;
  readonly pinned?: true;
  readonly after?: string;
  readonly limit: number;
  readonly json?: true;
}

const SCOPES = ["project", "user"] as const satisfies readonly SearchScope[];

type Scope = (typeof SCOPES)[number];

const storeRead = () =>
  new Option("--scope <scope>", "read this project, or the user-wide store ~/.rkat").choices(
    SCOPES,
  );

/** Reads what the project has learned, or the user-wide store if the folder has no `.rkat`. */
async function readKnowledge(
  context: CliContext,
  command: Command,
  work: (service: SessionService) => Promise<void>,
): Promise<void> {
  const { scope } = command.opts<{ scope?: Scope }>();
  const workspace = await workspaceOf(context, command);
  const isProject = hasStore(workspace) || existsSync(workspace.dataFolder);
  await withService(context, command, work, changedIn(scope ?? (isProject ? "project" : "user")));
}

/** `rkat knowledge list`. */
export function listCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const list = knowledge
    .command("list", { isDefault: true })
    .description("facts, corrections, preferences and rules, newest first")
    .argument("[query...]", "only entries with all of these words")
    .addOption(new Option("--kind <kind>", "only this kind").choices(KNOWLEDGE_KINDS))
    .option("--tag <tag>", "only this tag, such as the name of a tool")
    .option("--pinned", "only pinned entries")
    .addOption(storeRead())
    .option("--after <id>", "continue the list after this entry")
    .option("-n, --limit <n>", "limit of entries", countFlag(1000), LIMIT_DEFAULT)
    .option("--json", "for scripts")
    .action((words: string[], { json, scope: _, ...flags }: ListFlags) =>
      readKnowledge(context, list, async (service) => {
        const query = words.length > 0 ? words.join(" ") : undefined;
        const found = await service.listKnowledge({ ...flags, ...given({ query }) });
        if (json) {
          const wire = found.map((entry) => toWire(knowledgeEntry, entry));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("No matching entries.\n");
        const style = styleFor(terminal.stdout, terminal.env);
        await printText(terminal.stdout, renderEntries(found, style));
        if (found.length === flags.limit) {
          await terminal.stderr.write(`These are the last ${flags.limit}. For more: --limit\n`);
        }
      }),
    );
}

/** `rkat knowledge show`. */
export function showCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const show = knowledge
    .command("show")
    .description("one entry in full, and whose words a rule rests on")
    .argument("<id>", ENTRY_ARGUMENT)
    .addOption(storeRead())
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      readKnowledge(context, show, async (service) => {
        const entry = await findEntry(service, name);
        if (json) return await printJson(terminal.stdout, toWire(knowledgeEntry, entry));
        const style = styleFor(terminal.stdout, terminal.env);
        await terminal.stdout.write(renderEntry(entry, style));
      }),
    );
}

/** @throws SessionError `KNOWLEDGE_NOT_FOUND` when no id matches, `INVALID_PARAMS` when several do. */
export async function findEntry(service: SessionService, name: string): Promise<KnowledgeEntry> {
  try {
    return await service.readKnowledge({ knowledgeId: name });
  } catch (error) {
    if (!SessionError.is(error) || error.code !== "KNOWLEDGE_NOT_FOUND") throw error;
    const all = await service.listKnowledge({ limit: SEARCHED_MAX });
    const fits = all.filter(({ id }) => id.includes(name));
    const [found] = fits;
    if (!found) throw error;
    if (fits.length === 1) return found;
    throw new SessionError("INVALID_PARAMS", {
      message: `Several ids contain "${name}":\n${fits.map(({ id }) => id).join("\n")}`,
      hint: "Give more of the id.",
    });
  }
}
