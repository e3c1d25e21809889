import { type Command, Option } from "commander";
import type { SearchScope } from "../../../../config/settings.ts";
import { given } from "../../../../core/fields.ts";
import type { KnowledgeEntry } from "../../../../core/knowledge.ts";
import type { AddKnowledge } from "../../../../core/requests.ts";
import { distillation, knowledgeEntry } from "../../../../core/results.ts";
import type { SessionService } from "../../../../core/session-service.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { printable } from "../../render/printable.ts";
import { printJson } from "../../terminal/print.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { changedIn } from "../find-session.ts";
import { listFlag, storeFlag } from "../flags.ts";
import { withService } from "../with-service.ts";
import { ENTRY_ARGUMENT, findEntry } from "./read-commands.ts";

interface ChangeFlags {
  readonly kind?: AddKnowledge["kind"];
  readonly tag?: string[];
  readonly pin?: true;
  readonly json?: true;
}

const KINDS = ["preference", "rule", "fact"] satisfies AddKnowledge["kind"][];

/** `rkat knowledge add`, `edit`, `pin` and `unpin`. */
export function changeCommands(knowledge: Command, context: CliContext): void {
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

/** `rkat knowledge forget`. */
export function forgetCommand(knowledge: Command, context: CliContext): void {
  const { terminal } = context;
  const forget = knowledge
    .command("forget")
    .description("delete an entry wherever its text is stored, and never learn it again")
    .argument("<id>", ENTRY_ARGUMENT)
    .addOption(storeFlag())
    .option("--json", "for scripts")
    .action((name: string, { json, scope }: { json?: true; scope: SearchScope }) => {
      const forgetIt = async (service: SessionService) => {
        const { id: knowledgeId } = await findEntry(service, name);
        await service.forgetKnowledge({ knowledgeId });
        if (json) return await printJson(terminal.stdout, { forgotten: true });
        await terminal.stderr.write(`Forgot ${knowledgeId}.\n`);
      };
      return withService(context, forget, forgetIt, changedIn(scope));
    });
}

/** `rkat knowledge distill`. */
export function distillCommand(knowledge: Command, context: CliContext): void {
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

async function show(
  { stdout, stderr }: Terminal,
  done: string,
  entry: KnowledgeEntry,
  json: true | undefined,
): Promise<void> {
  if (json) await printJson(stdout, toWire(knowledgeEntry, entry));
  else await stderr.write(`${done} ${entry.id}\n`);
}
