import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import type { SearchScope } from "../../config/settings.ts";
import { hasStore } from "../../config/workspace.ts";
import { SessionError } from "../../core/errors.ts";
import { given } from "../../core/fields.ts";
import {
  type Ground,
  KNOWLEDGE_KINDS,
  type KnowledgeEntry,
  type KnowledgeKind,
} from "../../core/knowledge.ts";
import {
  type AddKnowledge,
  distillation,
  knowledgeEntry,
} from "../../core/operations/knowledge.ts";
import type { SessionService } from "../../core/session-service.ts";
import { toWire } from "../../core/wire.ts";
import { shellWord } from "../../text/quoting.ts";
import type { CliContext } from "../cli-context.ts";
import { plural } from "../render/amounts.ts";
import { oneLine, printable } from "../render/printable.ts";
import { renderFacts, type Style, styleFor } from "../render/style.ts";
import { confirm } from "../terminal/ask.ts";
import { printJson, printText } from "../terminal/print.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { changedIn } from "./find-session.ts";
import { AS_OF, countFlag, listFlag, storeFlag, timeOf } from "./flags.ts";
import { withService, workspaceOf } from "./with-service.ts";

/** `rkat knowledge …`: what the project has learned. Only `distill` may need a model. */
export function knowledgeCommand(program: Command, context: CliContext): void {
  const knowledge = program.command("knowledge").helpCommand(false);
  listCommand(knowledge, context);
  showCommand(knowledge, context);
  changeCommands(knowledge, context);
  forgetCommand(knowledge, context);
  distillCommand(knowledge, context);
}

const LIMIT_DEFAULT = 50;
/** Entries that are read at once, and ids that an error names. */
const [PAGE, NAMED_MAX] = [1000, 20];

/** The description of the argument that names an entry. */
const ENTRY_ARGUMENT = "its id, or a part of the id";

interface ListFlags {
  readonly scope?: Scope;
  readonly kind?: KnowledgeKind;
  readonly tag?: string;
  readonly pinned?: true;
  readonly asOf?: string;
  after?: string;
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
  const isProject = hasStore(workspace) || existsSync(workspace.storePlace.dataFolder);
  await withService(context, command, work, changedIn(scope ?? (isProject ? "project" : "user")));
}

/** `rkat knowledge list`. */
function listCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const list = knowledge
    .command("list", { isDefault: true })
    .description("facts, corrections, preferences and rules, newest first")
    .argument("[query...]", "only entries with all of these words")
    .addOption(new Option("--kind <kind>", "only this kind").choices(KNOWLEDGE_KINDS))
    .option("--tag <tag>", "only this tag, such as the name of a tool")
    .option("--pinned", "only pinned entries")
    .addOption(storeRead())
    .option("--as-of <time>", AS_OF)
    .option("--after <id>", "continue the list after this entry")
    .option("-n, --limit <n>", "limit of entries", countFlag(1000, 1), LIMIT_DEFAULT)
    .option("--json", "for scripts")
    .action((words: string[], { json, scope: _, ...flags }: ListFlags) =>
      readKnowledge(context, list, async (service) => {
        // After one that is not there, the list would begin again.
        if (flags.after !== undefined && flags.asOf === undefined)
          flags.after = (await findEntry(service, flags.after)).id;
        const query = words.length > 0 ? words.join(" ") : undefined;
        const found = await service.listKnowledge({
          ...flags,
          ...given({ query, asOf: timeOf(flags, "asOf") }),
        });
        if (json) {
          const wire = found.map((entry) => toWire(knowledgeEntry, entry));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("No matching entries.\n");
        const style = styleFor(terminal.stdout, terminal.env);
        await printText(terminal.stdout, renderEntries(found, style));
        if (found.length === flags.limit) {
          await terminal.stderr.write(`For more: --after ${shellWord(found.at(-1)?.id ?? "")}\n`);
        }
      }),
    );
}

/** `rkat knowledge show`. */
function showCommand(knowledge: Command, context: CliContext): void {
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
async function findEntry(service: SessionService, name: string): Promise<KnowledgeEntry> {
  if (name === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: "The id of the entry is empty.",
      hint: "Give its id, or a part of it. `rkat knowledge list` shows them.",
    });
  }
  try {
    return await service.readKnowledge({ knowledgeId: name });
  } catch (error) {
    if (!SessionError.is(error) || error.code !== "KNOWLEDGE_NOT_FOUND") throw error;
    const fits: KnowledgeEntry[] = [];
    // An older entry may have the same part: it is looked for among all.
    for (let after: string | undefined; fits.length <= NAMED_MAX; ) {
      const page = await service.listKnowledge({ limit: PAGE, ...given({ after }) });
      fits.push(...page.filter(({ id }) => id.includes(name)));
      if (page.length < PAGE) break;
      after = page.at(-1)?.id;
    }
    const [found] = fits;
    if (!found) throw error;
    if (fits.length === 1) return found;
    const named = fits.slice(0, NAMED_MAX).map(({ id }) => id);
    throw new SessionError("INVALID_PARAMS", {
      message: `Several ids contain "${name}":\n${[...named, ...(fits.length > NAMED_MAX ? ["…"] : [])].join("\n")}`,
      hint: "Give more of the id.",
    });
  }
}

interface ChangeFlags {
  readonly kind?: AddKnowledge["kind"];
  readonly tag?: string[];
  readonly pin?: true;
  readonly json?: true;
}

const KINDS = ["preference", "rule", "fact"] satisfies AddKnowledge["kind"][];

/** `rkat knowledge add`, `edit`, `pin` and `unpin`. */
function changeCommands(knowledge: Command, context: CliContext): void {
  const { terminal } = context;

  const add = knowledge
    .command("add")
    .description("teach the project something; new sessions follow preferences and rules")
    .argument("<text...>", 'such as "Always run the tests before you commit."')
    .addOption(new Option("--kind <kind>", "what it is (default: preference)").choices(KINDS))
    .option("--tag <tag>", "tag it (repeatable)", listFlag)
    .option("--pin", "pin it: it is never dropped")
    .option("--json", "for scripts")
    .action((words: string[], { kind, tag, pin, json }: ChangeFlags) =>
      withService(
        context,
        add,
        async (service) => {
          const content = words.join(" ");
          const fields = given({ kind, tags: tag, pinned: pin });
          await show(terminal, "Learned", await service.addKnowledge({ content, ...fields }), json);
        },
        { access: "create" },
      ),
    );

  const edit = knowledge
    .command("edit")
    .description("change the text or the tags of an entry")
    .argument("<id>", ENTRY_ARGUMENT)
    .argument("[text...]", "the new text")
    .option("--tag <tag>", "the new tags (repeatable)", listFlag)
    .option("--json", "for scripts")
    .action((name: string, words: string[], { tag, json }: ChangeFlags) =>
      withService(context, edit, async (service) => {
        const { id: knowledgeId } = await findEntry(service, name);
        const content = words.length > 0 ? words.join(" ") : undefined;
        const change = given({ content, tags: tag });
        if (Object.keys(change).length === 0) throw nothingToChange();
        await show(
          terminal,
          "Changed",
          await service.editKnowledge({ knowledgeId, ...change }),
          json,
        );
      }),
    );

  for (const pinned of [true, false]) {
    const pin = knowledge
      .command(pinned ? "pin" : "unpin")
      .description(
        pinned ? "never drop an entry; pinned rules come first" : "let an entry be dropped again",
      )
      .argument("<id>", ENTRY_ARGUMENT)
      .option("--json", "for scripts")
      .action((name: string, { json }: { json?: true }) =>
        withService(context, pin, async (service) => {
          const { id: knowledgeId } = await findEntry(service, name);
          const entry = await service.editKnowledge({ knowledgeId, pinned });
          await show(terminal, pinned ? "Pinned" : "Unpinned", entry, json);
        }),
      );
  }
}

interface ForgetFlags {
  readonly scope: SearchScope;
  readonly yes?: true;
  readonly json?: true;
}

/** `rkat knowledge forget`. */
function forgetCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const forget = knowledge
    .command("forget")
    .description("delete an entry wherever its text is stored, and never learn it again")
    .argument("<id>", ENTRY_ARGUMENT)
    .addOption(storeFlag())
    .option("-y, --yes", "do not ask about an entry that a part of its id names")
    .option("--json", "for scripts")
    .action((name: string, { json, yes, scope }: ForgetFlags) => {
      const forgetIt = async (service: SessionService) => {
        const { id: knowledgeId, content } = await findEntry(service, name);
        const asks = !yes && !json && terminal.stdin.isTerminal && knowledgeId !== name;
        const question = `forget "${oneLine(content, TEXT_SHOWN)}" for good`;
        if (asks && !(await confirm(question, terminal))) {
          return await terminal.stderr.write("Nothing was forgotten.\n");
        }
        await service.forgetKnowledge({ knowledgeId });
        if (json) return await printJson(terminal.stdout, { forgotten: true });
        await terminal.stderr.write(`Forgot ${knowledgeId}.\n`);
      };
      return withService(context, forget, forgetIt, changedIn(scope));
    });
}

/** `rkat knowledge distill`. */
function distillCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const distill = knowledge
    .command("distill")
    .description("make the rules again, with the model if one is configured, and print them")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      withService(context, distill, async (service) => {
        const made = await service.distillKnowledge({});
        if (json) return await printJson(terminal.stdout, toWire(distillation, made));
        for (const { kept, dropped } of made.contradictions) {
          await terminal.stderr.write(
            `note: "${printable(kept.content)}" replaces the earlier "${printable(dropped.content)}".\n`,
          );
        }
        if (made.addendum === "") return await terminal.stderr.write("There are no rules yet.\n");
        await terminal.stdout.write(`${printable(made.addendum)}\n`);
      }),
    );
}

function nothingToChange(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "Nothing to change is named.",
    hint: "Give the new text, or the new tags with --tag.",
  });
}

async function show(
  { stdout, stderr }: Terminal,
  done: string,
  entry: KnowledgeEntry,
  json: true | undefined,
): Promise<void> {
  if (json) await printJson(stdout, toWire(knowledgeEntry, entry));
  else await stderr.write(`${done} ${entry.id}\n`);
}

const TEXT_SHOWN = 200;

/** An entry is its text, then its id, date and count, then the words that a rule rests on. */
function renderEntries(entries: readonly KnowledgeEntry[], style: Style): string {
  return entries
    .map((entry) => {
      const pin = entry.pinned ? `${style.yellow("pinned")} ` : "";
      const kind = style.green(entry.kind.padEnd(10));
      const lines = [about(entry), ...(entry.restsOn ?? []).map(renderGround)];
      const below = lines.map((line) => `${" ".repeat(11)}${style.dim(line)}\n`).join("");
      return `${kind} ${pin}${oneLine(entry.content, TEXT_SHOWN)}\n${below}`;
    })
    .join("");
}

/** The speaker, words and time that a rule rests on: `you said "Always use pnpm." · 2026-01-31 · session 0199 · event 3`. */
function renderGround({ origin, said, time, sessionId, seq }: Ground): string {
  const verb = { added: "you added", model: "a model added" }[origin as string] ?? "you said";
  const words =
    said === "" ? "you denied it, without a reason" : `${verb} "${oneLine(said, TEXT_SHOWN)}"`;
  const where = sessionId === undefined ? [] : [`session ${sessionId}`, `event ${seq}`];
  return [words, time.slice(0, 10), ...where].join(" · ");
}

/** One entry in full, and the words that a rule rests on. */
function renderEntry(entry: KnowledgeEntry, style: Style): string {
  const facts = renderFacts(
    [
      ["id", entry.id],
      ["kind", `${entry.kind}${entry.pinned ? ", pinned" : ""}${entry.edited ? ", edited" : ""}`],
      ["seen", `${plural(entry.count, "time")}, last ${entry.lastTime}`],
      ["session", shown(entry.sessionId)],
      ["from", entry.origin === "imported" ? "an imported transcript, makes no rule" : undefined],
      ["tool", shown(entry.tool)],
      ["arguments", shown(entry.args)],
      ["reason", shown(entry.reason)],
      ["goal", shown(entry.goal)],
      ["tags", shown(entry.tags.join(", "))],
      ["used", entry.usedAt],
      ["replaced by", entry.replacedBy],
      ...(entry.earlier ?? []).map(
        ({ until, content }) =>
          [`until ${until.slice(0, 10)}`, oneLine(content, TEXT_SHOWN)] as const,
      ),
    ],
    style,
  );
  const grounds = (entry.restsOn ?? []).map((ground) => `- ${renderGround(ground)}\n`);
  const from = grounds.length > 0 ? `\nRests on:\n${grounds.join("")}` : "";
  return `${printable(entry.content)}\n\n${facts}${from}`;
}

const shown = (text: string | undefined) => text && oneLine(text);

function about({ id, count, lastTime, origin, replacedBy }: KnowledgeEntry): string {
  const times = count > 1 ? ` · ${plural(count, "time")}` : "";
  const from = origin === "imported" ? " · from an imported transcript, makes no rule" : "";
  const newer = replacedBy === undefined ? "" : ` · replaced by ${replacedBy}`;
  return `${id} · ${lastTime.slice(0, 10)}${times}${from}${newer}`;
}
