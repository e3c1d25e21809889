import { expect, test } from "vitest";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { fileOfBytes } from "../found-file.ts";
import { aiderFormat } from "./markdown-formats.ts";

test("Aider: each run is a session, prompts are told from headings, quotes and the program's lines", async () => {
  const text = `
# aider chat started at 2026-02-03 10:00:00

> Aider v0.80  
> Model: gpt-5  

#### Why is it red?  
#### And since when?  

It is paint.

#### A heading of the answer

\`\`\`md
#### in a fence
\`\`\`

> quoted by the model

> Tokens: 2k sent, 1k received.  
> The edit failed.  
> # 1 block failed to match!

## This block
\`\`\`
paint()  

It is another paint.

> Tokens: 3k sent, 1k received.  
> ls
ls -a  
> Run shell commands? (Y)es/(N)o [Yes]: y  

#### /add paint.ts  

> Added paint.ts to the chat  

#### /ask make it blue?  

Yes.

# aider chat started at 2026-02-04 10:00:00

#### <blank>  

#### Go on  

#### And stop  

Done.
`;
  const { sessions } = await readImport(
    aiderFormat,
    fileOfBytes("repo/.aider.chat.history.md", Buffer.from(text)),
  );
  const said = sessions.map(({ messages }) => messages.map(brief));
  expect(said).toEqual([
    [
      "user: Why is it red?\nAnd since when?",
      "text: It is paint.\n\n#### A heading of the answer\n\n```md\n#### in a fence\n```\n\n> quoted by the model",
      "text: It is another paint.",
      "user: make it blue?",
      "text: Yes.",
    ],
    ["user: Go on", "user: And stop", "text: Done."],
  ]);
  expect(sessions.map(({ title, project }) => [title, project])).toEqual([
    ["Why is it red?", "repo"],
    ["Go on", "repo"],
  ]);
});

test("Aider: a command's prompt, and the architect's words to the editor, which stand there again, are no prompts", async () => {
  const plan = "I would paint the shed blue, and the door red.\n\nFirst the shed.";
  const again = plan.split("\n").map((line) => `#### ${line}  `);
  const text = `# aider chat started at 2026-02-03 10:00:00

#### /ask why is it red?  
#### And since when?  

#### why is it red?  
#### And since when?  

It is paint.

> Tokens: 2k sent, 1k received.  

#### /architect paint it  

#### paint it  

${plan}

> Tokens: 2k sent, 1k received.  
> Edit the files? (Y)es/(N)o [Yes]: y  

${again.join("\n")}

It is painted.

#### Go on  

#### Go on  
`;
  const file = fileOfBytes("repo/.aider.chat.history.md", Buffer.from(text));
  const { sessions } = await readImport(aiderFormat, file);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    ...["user: why is it red?\nAnd since when?", "text: It is paint.", "user: paint it"],
    ...[`text: ${plan}`, "text: It is painted.", "user: Go on", "user: Go on"],
  ]);
});
