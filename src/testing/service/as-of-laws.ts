import assert from "node:assert/strict";
import { setImmediate as nextTick } from "node:timers/promises";
import { type Law, lawsOf } from "../law.ts";
import { assertCode, EVERYTHING, type OpenService } from "./service-scenes.ts";

/** Memory and knowledge as they were at a time. */
export const asOfLaws: readonly Law<OpenService>[] = lawsOf({
  "memory is searched and listed as it was at a time, without what came later and what was forgotten since":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING });
      const query = "limit of the harbour";
      const older = "The request limit of the harbour is 100 a minute.";
      const newer = "The request limit of the harbour is 250 a minute.";
      const edited = "The visitor limit of the harbour is 12 a day.";
      const { id: first } = await service.addMemory({ content: older });
      const { id: note } = await service.addMemory({ content: edited });
      const { sessionId } = await service.createSession({});
      const said = async (content: string) => {
        await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
      };
      await said("The noise limit of the harbour is 60 decibels.");
      const asOf = await timeBetween();
      await service.addMemory({ content: newer });
      const { id } = await service.editMemory({
        id: note,
        content: "The visitor limit of the harbour is 40 a day.",
      });
      await said("The speed limit of the harbour is 6 knots.");

      const found = async (filter: { readonly asOf?: string; readonly role?: string }) => {
        const hits = await service.searchMemory({ query, minScore: 0, ...filter });
        const listed = await service.listMemory(filter);
        const numbers = (texts: readonly { readonly content: string }[]) =>
          texts.map(({ content }) => Number(/\d+/.exec(content)?.[0])).sort((a, b) => a - b);
        assert.deepEqual(numbers(listed), numbers(hits));
        return numbers(hits);
      };
      assert.deepEqual(await found({}), [6, 40, 60, 100, 250]);
      assert.deepEqual(await found({ asOf }), [12, 60, 100]);
      assert.deepEqual(await found({ asOf, role: "tool" }), []);
      assert.deepEqual(await found({ asOf: "2001-01-01" }), []);
      assert.deepEqual(await found({ asOf: await timeBetween() }), [6, 40, 60, 100, 250]);
      const was = await service.searchMemory({ query: older, asOf });
      assert.equal(was.find((hit) => hit.id === first)?.replacedBy, undefined);
      const pages: string[] = [];
      for (let after: { readonly after?: string } = {}; ; ) {
        const [entry] = await service.listMemory({ asOf, limit: 1, ...after });
        if (!entry) break;
        pages.push(entry.content);
        after = { after: entry.id };
      }
      assert.deepEqual(
        pages,
        (await service.listMemory({ asOf })).map(({ content }) => content),
      );
      await service.forgetMemory({ ids: [id] });
      assert.deepEqual(await found({ asOf }), [60, 100]);
    },
  "what the project knew at a time is listed and found as it was, with the rules that followed from it":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING });
      const npm = await service.addKnowledge({ content: "Always use npm for installs." });
      const tabs = await service.addKnowledge({ content: "Indent with tabs." });
      const asOf = await timeBetween();
      const never = await service.addKnowledge({ content: "Never use npm for installs." });
      const knowledgeId = tabs.id;
      await service.editKnowledge({ knowledgeId, content: "Indent with spaces." });
      const known = async (filter: { readonly asOf?: string }) => {
        const entries = await service.listKnowledge({ kind: "preference", ...filter });
        const rules = await service.listKnowledge({ kind: "rule", ...filter });
        return {
          entries: entries.map(({ content, replacedBy }) => [content, replacedBy]),
          rules: rules.map(({ content }) => content).sort(),
        };
      };
      const now = {
        entries: [
          ["Never use npm for installs.", undefined],
          ["Indent with spaces.", undefined],
          ["Always use npm for installs.", never.id],
        ],
        rules: ["Indent with spaces.", "Never use npm for installs."],
      };
      assert.deepEqual(await known({}), now);
      assert.deepEqual(await known({ asOf: await timeBetween() }), now);
      assert.deepEqual(await known({ asOf }), {
        entries: [
          ["Indent with tabs.", undefined],
          ["Always use npm for installs.", undefined],
        ],
        rules: ["Always use npm for installs.", "Indent with tabs."],
      });
      const [page, ...more] = await service.listKnowledge({ asOf, kind: "preference", limit: 1 });
      assert.deepEqual([page?.id, more], [tabs.id, []]);
      const found = async (query: string, filter: { readonly asOf?: string }) => {
        const hits = await service.searchMemory({ query, kind: "preference", ...filter });
        return hits.map(({ content }) => content);
      };
      assert.deepEqual(await found("indent", { asOf }), ["Indent with tabs."]);
      assert.deepEqual(await found("indent", {}), ["Indent with spaces."]);
      assert.deepEqual(await found("npm installs", { asOf }), ["Always use npm for installs."]);
      await service.forgetKnowledge({ knowledgeId });
      await service.forgetKnowledge({ knowledgeId: npm.id });
      assert.deepEqual(await known({ asOf }), { entries: [], rules: [] });
      assert.deepEqual(await found("indent", { asOf }), []);
    },
  "a person keeps both of two entries, takes that back, and memory knows when, for messages, notes and knowledge":
    async (open) => {
      const service = await open({ capabilities: EVERYTHING });
      const older = "The request limit of the harbour is 100 a minute.";
      const newer = "The request limit of the harbour is 250 a minute.";
      const { sessionId } = await service.createSession({});
      for (const content of [older, newer]) {
        await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
        await timeBetween();
      }
      const replaced = async (filter: { readonly asOf?: string } = {}) => {
        const hits = await service.searchMemory({ query: "limit of the harbour", ...filter });
        assert.equal(hits.length, 2);
        return hits.some(({ replacedBy }) => replacedBy) && hits.some(({ replaces }) => replaces);
      };
      assert.equal(await replaced(), true);
      const [first = "", second = ""] = (await service.listMemory({})).map(({ id }) => id);
      const before = await timeBetween();
      const kept = await service.keepBoth({ ids: [first, second] });
      assert.deepEqual([kept.id, kept.keeps?.map(({ id }) => id)], [first, [second]]);
      assert.deepEqual(
        await service.keepBoth({ ids: [second, first] }).then(({ id }) => id),
        second,
      );
      assert.equal(await replaced(), false);
      const meanwhile = await timeBetween();
      await service.keepBoth({ ids: [second, first], undo: true });
      assert.equal(await replaced(), true);
      assert.equal(await replaced({ asOf: before }), true);
      assert.equal(await replaced({ asOf: meanwhile }), false);
      await assertCode(service.keepBoth({ ids: [first, "nothing"] }), "KNOWLEDGE_NOT_FOUND");
      await assertCode(service.keepBoth({ ids: [first, first] }), "NOT_POSSIBLE");

      const always = await service.addKnowledge({ content: "Always use npm for installs." });
      const never = await service.addKnowledge({ content: "Never use npm for installs." });
      const dropped = async () =>
        (await service.readKnowledge({ knowledgeId: always.id })).replacedBy === never.id &&
        (await service.listKnowledge({ kind: "rule" })).length === 1;
      assert.equal(await dropped(), true);
      await service.keepBoth({ ids: [never.id, always.id] });
      assert.equal(await dropped(), false);
      assert.equal((await service.listKnowledge({ kind: "rule" })).length, 2);
      await service.keepBoth({ ids: [always.id, never.id], undo: true });
      assert.equal(await dropped(), true);

      // Nothing names what is forgotten.
      await service.keepBoth({ ids: [first, second] });
      await service.forgetMemory({ ids: [second] });
      assert.doesNotMatch(JSON.stringify(await service.listMemory({ id: first })), /keeps/);
    },
});

/** A time after all that was done, and before all that is done next. */
async function timeBetween(): Promise<string> {
  const next = async (time: number) => {
    while (Date.now() <= time) await nextTick();
    return Date.now();
  };
  const time = await next(Date.now());
  await next(time);
  return new Date(time).toISOString();
}
