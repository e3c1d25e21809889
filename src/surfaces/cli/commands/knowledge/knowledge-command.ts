import { type Command, Option } from "commander";
import { SessionError } from "../../../../core/errors.ts";
import {
  KNOWLEDGE_KINDS,
  type KnowledgeEntry,
  type KnowledgeKind,
} from "../../../../core/knowledge.ts";
import type { AddKnowledge } from "../../../../core/requests.ts";
import { distillation, knowledgeEntry } from "../../../../core/results.ts";
import type { SessionService } from "../../../../core/session-service.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { printable } from "../../render/printable.ts";
import { renderEntries, renderEntry } from "../../render/render-knowledge.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { countFlag, given } from "../flags.ts";
import { withService } from "../with-service.ts";

const LIMIT_DEFAULT = 50;
const SEARCHED_MAX = 1000;
const ID = "its id, or a part of it";

interface ListFlags {
  readonly kind?: KnowledgeKind;
  readonly tag?: string;
  readonly pinned?: true;
  readonly after?: string;
  readonly limit: number;
  readonly json?: true;
}

interface ChangeFlags {
  readonly kind?: AddKnowledge["kind"];
  readonly tag?: string[];
  readonly pin?: true;
  readonly json?: true;
}

/** `rkat knowledge …`: what the project has learned. Only `distill` may need a model. */
export function knowledgeCommand(program: Command, context: CliContext): void {
  const { terminal } = context;
  const style = styleFor(terminal.stdout, terminal.env);
  const knowledge = program
    .command("knowledge")
    .description("see and steer what the project has learned")
    .helpCommand(false);

  const show = async (entry: KnowledgeEntry, json: true | undefined, said: string) => {
    if (json) return await printJson(terminal.stdout, toWire(knowledgeEntry, entry));
    await terminal.stderr.write(`${said} ${entry.id}\n`);
  };

  const list = knowledge
    .command("list", { isDefault: true })
    .description("facts, corrections, preferences and rules, newest first")
    .argument("[query...]", "only those whose text has all of these words")
    .addOption(new Option("--kind <kind>", "only these").choices(KNOWLEDGE_KINDS))
    .option("--tag <tag>", "only those with this tag, such as the name of a tool")
    .option("--pinned", "only pinned ones")
    .option("--after <id>", "only those after this one in the list")
    .option("-n, --limit <n>", "entries at the most", countFlag(1000), LIMIT_DEFAULT)
    .option("--json", "for scripts")
    .action((words: string[], { json, ...flags }: ListFlags) =>
      withService(context, list, async (service) => {
        const query = words.length > 0 ? words.join(" ") : undefined;
        const found = await service.listKnowledge({ ...flags, ...given({ query }) });
        if (json) {
          const wire = found.map((entry) => toWire(knowledgeEntry, entry));
          return await printJson(terminal.stdout, wire);
        }
        if (found.length === 0) return await terminal.stderr.write("Nothing is known.\n");
        await terminal.stdout.write(renderEntries(found, style));
        if (found.length === flags.limit) {
          await terminal.stderr.write(`The last ${flags.limit}; --limit shows more.\n`);
        }
      }),
    );

  const read = knowledge
    .command("show")
    .description("one entry, and what it rests on")
    .argument("<id>", ID)
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withService(context, read, async (service) => {
        const entry = await find(service, name);
        if (json) return await printJson(terminal.stdout, toWire(knowledgeEntry, entry));
        const sources = await Promise.all(
          (entry.sources ?? []).map((knowledgeId) =>
            service.readKnowledge({ knowledgeId }).catch(() => undefined),
          ),
        );
        await terminal.stdout.write(
          renderEntry(entry, sources.filter(Boolean) as KnowledgeEntry[], style),
        );
      }),
    );

  const add = knowledge
    .command("add")
    .description("teach the project something; new sessions follow preferences and rules")
    .argument("<text...>", 'such as "Always run the tests before you commit."')
    .addOption(kindOption())
    .option("--tag <tag>", "tag it (repeatable)", several)
    .option("--pin", "never let it go")
    .option("--json", "for scripts")
    .action((words: string[], { kind, tag, pin, json }: ChangeFlags) =>
      withService(
        context,
        add,
        async (service) => {
          const content = words.join(" ");
          const fields = given({ kind, tags: tag, pinned: pin });
          await show(await service.addKnowledge({ content, ...fields }), json, "Learned");
        },
        { access: "create" },
      ),
    );

  const edit = knowledge
    .command("edit")
    .description("say it in other words, or tag it")
    .argument("<id>", ID)
    .argument("[text...]", "the new text")
    .option("--tag <tag>", "its tags from now on (repeatable)", several)
    .option("--json", "for scripts")
    .action((name: string, words: string[], { tag, json }: ChangeFlags) =>
      withService(context, edit, async (service) => {
        const { id: knowledgeId } = await find(service, name);
        const content = words.length > 0 ? words.join(" ") : undefined;
        const change = given({ content, tags: tag });
        await show(await service.editKnowledge({ knowledgeId, ...change }), json, "Changed");
      }),
    );

  for (const pinned of [true, false]) {
    const pin = knowledge
      .command(pinned ? "pin" : "unpin")
      .description(pinned ? "never let an entry go; a rule comes first" : "the opposite")
      .argument("<id>", ID)
      .option("--json", "for scripts")
      .action((name: string, { json }: { json?: true }) =>
        withService(context, pin, async (service) => {
          const { id: knowledgeId } = await find(service, name);
          const entry = await service.editKnowledge({ knowledgeId, pinned });
          await show(entry, json, pinned ? "Pinned" : "Unpinned");
        }),
      );
  }

  const forget = knowledge
    .command("forget")
    .description("forget an entry wherever its text is, and do not learn it again")
    .argument("<id>", ID)
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withService(context, forget, async (service) => {
        const { id: knowledgeId } = await find(service, name);
        await service.forgetKnowledge({ knowledgeId });
        if (json) return await printJson(terminal.stdout, { forgotten: true });
        await terminal.stderr.write(`Forgot ${knowledgeId}.\n`);
      }),
    );

  const distill = knowledge
    .command("distill")
    .description("make the rules anew, with the model if one is configured, and show them")
    .option("--json", "for scripts")
    .action(({ json }: { json?: true }) =>
      withService(context, distill, async (service) => {
        const made = await service.distillKnowledge({});
        if (json) return await printJson(terminal.stdout, toWire(distillation, made));
        for (const { kept, dropped } of made.contradictions) {
          await terminal.stderr.write(
            `note: "${printable(dropped.content)}" no longer holds: later it was "${printable(kept.content)}".\n`,
          );
        }
        if (made.addendum === "") return await terminal.stderr.write("There are no rules.\n");
        await terminal.stdout.write(`${printable(made.addendum)}\n`);
      }),
    );
}

function kindOption(): Option {
  const kinds = ["preference", "rule", "fact"] satisfies AddKnowledge["kind"][];
  return new Option("--kind <kind>", "what it is (default: preference)").choices(kinds);
}

/** @throws SessionError `KNOWLEDGE_NOT_FOUND` when none fits, `INVALID_PARAMS` when several do. */
async function find(service: SessionService, name: string): Promise<KnowledgeEntry> {
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
      detail: `Several have "${name}" in their ids:\n${fits.map(({ id }) => id).join("\n")}`,
      hint: "Give more of the id.",
    });
  }
}

function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
