import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The tests and laws of promises that do not have their promise as their name. */
const HELD_BY: Readonly<Record<string, readonly string[]>> = {
  "The last user messages, system messages and standing instructions stay word for word.": [
    "the last user message and standing instructions stay word for word",
    "system messages stay word for word",
    "calls that wait for a result stay, and so do several questions in a row",
  ],
  "A history that was edited is compacted from its longest part that is still the same. A replaced message far back in a long history is noticed before the next compaction.":
    [
      "an edited history goes on from the part that is still the same",
      "the next compaction tells of a message that was replaced far back in a long history",
    ],
  "A summary never grows.": ["a summary never grows over many compactions"],
  "A forgotten text is in no later summary, although the host still offers it.": [
    "a forgotten message that the host still offers is sent, and no summary is told of it",
  ],
  "A failed summary leaves the history as it is while it fits the window.": [
    "a failing summariser leaves the history as it is while it fits, and is not asked at each step",
  ],
  "`read` depends on nothing but the message, and changes nothing.": [
    "a host that offers its whole history again pays for one summary",
    "the messages that stay are the host's own objects",
  ],
  "`summary` makes a user message, and `read` gives its text back unchanged.": [
    "a summary is a user's message that reads back as a summary with its text",
    "a summary and the user message after it become one, and come back as two",
  ],
  "`shorten` makes a copy. `read` gives the new outputs back, and everything else as before.": [
    "shortened tool output leaves the message as it was, and all else in the copy",
  ],
  "Reading twice gives the same messages with the same ids.": [
    "every line is read, and reading twice gives the same ids, each once",
  ],
  "A file that is cut anywhere gives the messages of its complete lines.": [
    "a file that is cut gives its complete lines",
  ],
  "No bytes make it throw, except that a file cannot be read at all.": [
    "bytes of any kind are skipped, never an error",
  ],
  "A file is read as a stream. A line or a record is held, never the file.": [
    "any bytes are read to their end",
  ],
  "What is not understood is counted, not dropped in silence.": [
    "a record of a type that is not known is counted by its name, or told",
  ],
  "Rows come back as they were put; of several with the same key, the last one.": [
    "by %s, it gives the results of SQLite with the same scores",
  ],
  "`save` keeps all of its changes or none.": [
    "memory survives … times that all who write and search it are killed",
  ],
  "Entries come in the order that `entries` names; word blocks by their first word in UTF-8, then by slot.":
    [
      "after any adding, deleting, merging and reindexing, it is what the texts say, for every reader",
    ],
  "What is added is listed until it is answered or removed, oldest first.": [
    "an added approval is listed until it is answered or removed, oldest first",
  ],
  "Of several answers the first one counts.": [
    "of several answers the first one counts, and it has to name the session",
  ],
  "An answer is kept until the approval is removed.": [
    "an added approval is listed until it is answered or removed, oldest first",
  ],
  "A replaced approval keeps its place and its answer. Replacing an unknown one adds nothing.": [
    "a replaced approval keeps its place and its answer; a missing one is not added",
  ],
  "What is not exactly an answer denies the call. The log says what it was.": [
    "whatever a callback answers, only exactly an allowance runs the tool",
  ],
  "`readAll` leaves out what cannot be read any more, so that one session never stops the others.":
    ["doctor names an unreadable event, and a repair brings its session back into memory"],
  "The work is done once, and its result or its error is the caller's, whatever watches.": [
    "work is done once, and its result or its error is the caller's, whatever watches",
  ],
  "What the work does is inside its span: spans that others begin there, too.": [
    "a turn, its model calls and its tools are spans in each other, by the conventions",
  ],
  "Nothing of what was said is shown unless it was asked for.": [
    "nothing of what was said is shown, not in failures either",
    "contents are shown when they are asked for",
  ],
  "It is asked about one call at a time.": [
    "what needs an answer is asked one after the other, and not once it is answered elsewhere",
  ],
  "`signal` aborts when another process has answered, or the turn has ended.": [
    "an answer from another process reaches the turn that waits",
  ],
  "`always` is what an answer with `always` allows from now on. Show it before you give such an answer. Without it, this call cannot be allowed for good.":
    [
      "s and p allow for good, where the question says what they allow",
      "an answer from another process never allows more than the one call",
    ],
  "`discarded` has source messages, in their order. Every other source message is in `messages`.": [
    "retained and discarded messages are exactly the source, each in its old order",
  ],
  "`messages` has at most one message that the source does not have: the summary, a user message.":
    [
      "when nothing can be discarded, no summary is put in",
      "retained and discarded messages are exactly the source, each in its old order",
    ],
  "What is discarded does not depend on the summary.": [
    "it does not depend on the clock or on chance, and discards the same messages for every summary",
  ],
  "`rebuildHistory` does not depend on the clock or on chance, and discards the same messages whatever the summary says.":
    [
      "it does not depend on the clock or on chance, and discards the same messages for every summary",
    ],
  "Every system message that no later one has superseded, and the last user message, stay word for word.":
    [
      "every system message and the last user message stay word for word",
      "superseded system messages may leave, others never; in need only what has to stay does",
    ],
  "A rebuilt history is smaller than its source, however long the summary; a summary takes no more than two thirds of what it stands for.":
    ["a rebuilt history is smaller than its source, however long the summary"],
  "Vectors have `dimensions` numbers and length 1; a text without words gives zeros.": [
    "vectors have as many numbers as the embedder says",
    "vectors have length 1",
    "a text without words gives zeros",
  ],
  "The same text gives the same vector.": [
    "the same text gives the same vector, alone and among others",
  ],
  "Of stores that several processes share: an append under a lease is refused when another owner has taken the lease.":
    ["an append under a lease is refused when another owner has taken the lease"],
  "A search finds text of the whole log, whatever compaction did to the history.": [
    "a search finds text of the whole log, also text that compaction removed from the history",
  ],
  "A redacted event keeps its place, its id and its time. Its old text is in no read, no search and no byte.":
    [
      "a redacted event keeps its place, its id and its time, and only it changes",
      "the old text of a redacted event is found no more, and its new text is",
      "what is forgotten is in no byte of the store and of the files that show it",
    ],
  "What was changed is read as it was given, in order, by every process.": [
    "what was changed is read as it was given, in order",
    "every process reads the changes of the others, and theirs and its own happen one after the other",
  ],
  "Changes happen one after the other, each whole or not at all.": [
    "changes at the same time happen one after the other, each whole",
    "a change that throws changes nothing, and the next one is done",
  ],
  "A forgotten text is in no item.": ["a forgotten text is in no item, and the others stay"],
  "Commits are done in the order in which they are asked for. The next one need not wait for the one before.":
    [
      "commits are done in the order in which they are asked for, also when none waits for the one before",
    ],
  "What is forgotten or deleted stays known, so it is not imported again.": [
    "what was imported stays known after its session is deleted",
    "what was forgotten is found nowhere after it is imported again, also from a copy with other ids",
  ],
  "The state of a file is read as it was saved.": [
    "the state of a file is read as it was saved, and a later one takes its place",
  ],
  "What is recorded is listed, newest first, and read by its id.": [
    "a recorded entry is listed, newest first, and read by its id",
  ],
  "Things that are nearly the same are one entry.": [
    "things that are nearly the same are one entry, and others are not",
  ],
  "Beyond its limit the oldest entry of a kind is evicted: never a pinned one, and used ones last.":
    [
      "beyond its limit the oldest of a kind goes, but nothing pinned, and nothing used while there is other",
    ],
  "What was forgotten is not recorded again, unless it is added by hand.": [
    "a forgotten entry is not recorded again, unless it is added by hand",
  ],
  "`unheard` lists everything new, changed or deleted until `heard` confirms it.": [
    "memory is told of everything that is new, changed or gone, until it has heard of it",
  ],
  "Rules are saved only if their sources have not changed meanwhile.": [
    "rules are saved only if nothing they rest on has changed meanwhile",
  ],
  "Facts of a deleted session go with it; what the user taught stays.": [
    "facts of a deleted session go with it; entries that the user taught stay",
  ],
  "What is restored is merged, evicted and kept out like what it was copied from.": [
    "a restored entry is merged, evicted and kept out like its original",
  ],
  "Restoring a copy again changes nothing.": [
    "restoring a copy again changes nothing, and forgets entries that were forgotten since",
  ],
  "Deltas come while the model answers. Each block then comes as a whole, in order, as a `block`.":
    [
      "says its text in deltas, and then whole",
      "blocks come in the order in which they began, not in that in which they ended",
    ],
  "The last chunk is `finish`. A stream that ends without it has failed.": [
    "may be tried again when its answer is %s short",
  ],
  "It throws `PROVIDER_ERROR`, with `retry` set when trying again may help, `CONTEXT_WINDOW_EXCEEDED` when the provider says that the request is too long for the model, and `MODEL_UNAVAILABLE` when no request can succeed.":
    [
      "may be tried again after a %i",
      "is not tried again after a %i",
      "knows the provider's words for a history that is too long",
    ],
  "It does not retry; the agent does.": [
    "a provider that fails for a while is tried again, and each try is told",
  ],
  "It accepts every history that is a legal rkat history: neighbours of the same role and several system messages included.":
    ["%s accepts a history", "texts of neighbours keep apart"],
  "What is added is found by its own words.": ["an added entry is found by its own words"],
  "An id is stored once, however often and by however many it is added.": [
    "an id is stored once, however often it is added",
    "an id is stored once, by however many it is added at the same time",
  ],
  "A credential is replaced before it is stored (`redactSecrets`).": [
    "a credential is replaced before it is stored",
  ],
  "Scores run from 0 (unrelated) to 1 (the same text), best first.": [
    "scores run from 0 to 1, best first",
    "the same text scores 1 and comes first",
  ],
  "What is deleted is found no more.": ["a deleted entry is found no more"],
  "Any text can be stored and asked for: every script, operators, quotes, nothing but punctuation.":
    ["any text can be stored and asked for", "every script is found by its words"],
  "A rebuilt index finds what the old one found.": [
    "a rebuilt index has the same results as the old one",
  ],
  "Applying events that were applied before changes nothing.": [
    "session files come out the same from nothing, in any batches, however often",
    "memory has each discarded message once, however often and by however many it is indexed",
  ],
  "When `apply` resolves, its work and `position` survive a crash.": [
    "a copy of the files is worth nothing: the log is the truth",
    "memory survives … times that all who write and search it are killed",
  ],
  "After a kill at any point, the next `apply` repairs what was half done.": [
    "what a crash leaves in the files is healed, whatever it is",
    "killed between any two steps, the recording counts everything once and memory hears of all",
  ],
  "Creating a session and running a turn work with every set of capabilities.": [
    "build …: creating a session and running a turn work, and tell what happens",
  ],
  "What needs a capability that is not there fails with that capability's code.": [
    "without a session store, lookups are SESSION_PERSISTENCE_DISABLED",
    "without a memory store, memory is SESSION_MEMORY_DISABLED",
    "without compaction, asking for it is SESSION_COMPACTION_DISABLED",
  ],
  "A session runs one turn at a time, over all processes; a second one is `SESSION_BUSY`.": [
    "a second turn in a running session is SESSION_BUSY, and the first one does not notice",
    "two services never run a turn in the same session at once",
  ],
  "A turn that fails or is interrupted leaves a session that the next turn can go on with.": [
    "an interrupted turn is TURN_INTERRUPTED, and the next one goes on",
    "a turn that fails says so in the log and leaves every call with its result",
  ],
  "The task record, pins and what they keep survive compaction and everything being closed.": [
    "the task record, the pins and the pinned messages survive compaction and everything being closed",
  ],
  "Every request is checked here; a bad one is `INVALID_PARAMS`.": [
    "a bad request is INVALID_PARAMS, and the message names the field",
  ],
  "A transcript is imported once, for one user, and what was forgotten of it stays forgotten.": [
    "a transcript is imported once, for one user, and its forgotten texts stay forgotten",
  ],
  "What belongs to one user is not found, listed, searched, told or changed for another, nor without a user.":
    ["data of one user is not found, listed, searched or changed for another, nor without a user"],
  "Lists come newest first, and filters hold.": [
    "lists come newest first, page by page",
    "filters of a list hold",
  ],
  "A lease excludes every other owner until it is released.": [
    "a lease excludes everybody else until it is released",
  ],
  "A lease that is not renewed can be taken by another owner after its time.": [
    "a lease that is not renewed can be taken by another after its time",
  ],
  "A lease that ends further ahead than twice its length is void.": [
    "a lease that was taken by a clock a day ahead is void",
  ],
  "A lease that is in force is listed with its owner, if the store lists leases.": [
    "a lease that is in force is listed with its owner, the one that ends first before the others",
  ],
  "The owner of a lease learns that another asked it to stop. Who takes the lease next does not.": [
    "the owner of a lease learns that it was asked to stop, also after it renewed the lease",
    "the next owner of a lease was not asked to stop",
  ],
  "A deleted session is neither loaded nor listed.": [
    "a deleted session is neither loaded nor listed, and its id can be used again",
  ],
  "`execute` gets the arguments as the model sent them. They are parsed JSON, and `execute` checks them.":
    [
      "yields a call with broken arguments as the text that they are, and takes it back",
      "tool calls run side by side and their results reach the model in call order",
    ],
  "The model reads what it returns. `is_error` says that the call failed.": [
    "whatever goes wrong with a tool is a result that the model can read",
  ],
  'When it throws, the model reads `{"error": code, "message": …}` and the turn goes on.': [
    "whatever goes wrong with a tool is a result that the model can read",
  ],
  "A compaction can be undone, with what was said since, and the undo too.": [
    "a compaction can be undone, with what was said since, and the undo too, after everything was closed",
    "an undone compaction gives the next request that it had before, and the undone undo the one after it, byte for byte",
  ],
  "A fork's next request is the one that the other session would have made at that event, and stays so when the other is deleted.":
    [
      "a fork begins with what the other session's model saw at an event, both know each other, and both go on alone, after everything was closed",
      "a fork stays whole when the other session is deleted, and its messages are found once before and after",
    ],
  "What is brought back is in the next request, whole, and leaves with the next compaction unless it is pinned.":
    [
      "what is brought back is in the window until the next compaction, pinned ones through all, after everything was closed",
      "what is brought back stands whole at the end of the last request, as a quote with its time, and stays in its place",
    ],
  "What was made of messages leads to them, and they lead to what was made of them.": [
    "an entry of memory, a statement and a rule lead to the messages that they rest on, and these to them",
    "a summary leads to the messages that it rests on, over the summaries before it and those that a fork began with",
  ],
  "Nothing is a result when the best has less than the match that it needs.": [
    "nothing is a result when the best has less than the match that it needs, and else all are",
  ],
  "Each sent history extends the previous one, unless a compaction happened, or records of memory left.":
    ["each sent history extends the previous one, unless a compaction happened"],
  "Records of memory stand before the prompt that they are about. They leave at the next compaction, where those of a later prompt need their room, and when nothing else makes a full window smaller.":
    [
      "what left a chat comes back before the prompt that needs it, in each later request, and in a later process",
      "the next compaction takes the records away",
      "the records of a new prompt take the place of earlier ones of a chat that have no room beside them, but for those that it needs, and nothing else changes",
      "records leave a chat that no summary makes smaller",
    ],
  "Records of memory never make a call fail, and no summary has them.": [
    "a memory that fails makes no call of a chat fail",
    "no summary has the records of a chat",
  ],
  "It stops soon after `context.signal` aborts.": [
    "an interruption stops tools too, closes their calls and keeps what was said",
  ],
};

test("each promise of a contract is held by a law or a test", () => {
  const titles = titlesOfTests();
  const promises = globSync("src/**/*.ts").flatMap(promisesIn);
  const unheld = promises.filter((promise) => {
    return !(HELD_BY[promise] ?? [promise]).every((title) => titles.has(inOneForm(title)));
  });
  expect(promises.length).toBeGreaterThan(80);
  expect(unheld).toEqual([]);
  expect(Object.keys(HELD_BY).filter((promise) => !promises.includes(promise))).toEqual([]);
});

/** The bullets behind `Contract:` in the comments of a file, each in one line. */
function promisesIn(path: string): readonly string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  const starts = lines.flatMap((line, at) => (/^ \* Contract:$/.test(line) ? [at + 1] : []));
  return starts.flatMap((start) => {
    const end = lines.findIndex((line, at) => at >= start && !/^ \* (- | {2})/.test(line));
    const text = lines.slice(start, end).map((line) => line.slice(3));
    return text
      .join("\n")
      .split(/^- /m)
      .slice(1)
      .map((bullet) => bullet.trim().replace(/\s+/g, " "));
  });
}

/** The names of all laws and tests, as their sources have them. */
function titlesOfTests(): ReadonlySet<string> {
  const files = globSync([
    "src/testing/**/*.ts",
    "{src,test,bench,scripts}/**/*.test.ts",
    "test/support/*-laws.ts",
  ]);
  const titles = files.flatMap((path) => {
    const source = readFileSync(path, "utf8");
    const named = source.matchAll(
      /(?:\bname: |\b(?:test|it)\b[^"'`\n]*\(\s*|\)\(\s*)("(?:[^"\\\n]|\\.)*"|`[^`]*`)/g,
    );
    // Laws are tables by their names.
    const listed = path.endsWith(".test.ts")
      ? []
      : source.matchAll(/^ +\[?("(?:[^"\\\n]|\\.)*"(?=:)|`[^`]*`(?=\]?:|,$))/gm);
    return [...named, ...listed].map(([, quoted = ""]) => inOneForm(quoted.slice(1, -1)));
  });
  return new Set(titles);
}

function inOneForm(title: string): string {
  const plain = title
    .replaceAll("`", "")
    .replace(/\$\{\w+\}/g, "…")
    .replace(/\.$/, "");
  return plain.charAt(0).toLowerCase() + plain.slice(1);
}
