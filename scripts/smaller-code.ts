import { parseSync, Visitor } from "rolldown/utils";

interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * The code of a module that takes less room and has a line for each statement, so that an error shows the statement that was
 * written: without the spaces before each line, those beside punctuation, the line breaks inside of lists, and the semicolons
 * that JavaScript does without. Texts, patterns and comments stay as they are.
 */
export function smallerCode(name: string, code: string): string {
  const { program, comments } = parseSync(name, code);
  const kept = new Uint8Array(code.length);
  const keep = ({ start, end }: Place) => {
    kept.fill(1, start, end);
  };
  for (const comment of comments) keep(comment);
  const commentEnds = new Set(comments.map(({ end }) => end));
  const begins = new Set<number>();
  const begin = ({ body }: { readonly body: readonly Place[] }) => {
    for (const { start } of body) begins.add(start);
  };
  const ends = new Set<number>();
  const end = (statement: Place) => {
    ends.add(statement.end - 1);
  };
  new Visitor({
    ExpressionStatement: end,
    VariableDeclaration: end,
    ReturnStatement: end,
    ThrowStatement: end,
    BreakStatement: end,
    ContinueStatement: end,
    ImportDeclaration: end,
    ExportNamedDeclaration: end,
    PropertyDefinition: end,
    Literal: keep,
    TemplateElement: keep,
    Program: begin,
    BlockStatement: begin,
    StaticBlock: begin,
    ClassBody: begin,
    SwitchStatement: ({ cases }) => begin({ body: cases }),
    SwitchCase: ({ consequent }) => begin({ body: consequent }),
  }).visit(program);
  return code.replaceAll(BESIDE, (space, at: number) => {
    if (kept[at]) return space;
    if (space === ";") return ends.has(at) ? "" : space;
    if (!space.startsWith("\n")) return "";
    const next = at + space.length;
    const isInside = OPENS.has(code.charAt(at - 1)) || CLOSES.has(code.charAt(next));
    return isInside && !begins.has(next) && !commentEnds.has(at) ? "" : "\n";
  });
}

const OPENS = new Set("([{,");
const CLOSES = new Set(")]}");

/**
 * Not the space of `< !--x`, which would begin a comment of HTML. A line or a block that ends also ends a statement, if the next
 * one begins with a word that does not go on with it, and if no word before it, such as `get`, takes the next one along.
 */
const BESIDE =
  /\n[\t ]*| (?=[=,{}()[\]:;?<>*&|]|!=)|(?<=[=,{}()[\]:;?>*&|]) |(?<!\b(?:get|set|static|async|accessor));(?=\s*\}|\n\s*(?!in\b|instanceof\b)[\w$#"'{])/g;
