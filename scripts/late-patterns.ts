import { parseSync } from "rolldown/utils";

/**
 * The code of a module whose costly patterns are made when they are first used. V8 looks up all characters of `\p{L}` when it
 * reads the code, when it makes the pattern and when the pattern is first used, 50 µs each time. A search loads three hundred.
 *
 *     const WORD = /\p{L}+/u;           const WORD = () => WORD$made ??= new RegExp("\\p{L}+", "u");
 *     text.match(WORD);           ─►    text.match(WORD());
 *
 * A constant that other files import, or whose name means something else somewhere, stays a pattern, made from a text.
 */
export function latePatterns(name: string, code: string): string {
  const places = placesIn(parseSync(name, code).program as unknown as Node);
  const constants = constantsIn(places);
  const made: string[] = [];
  const once = (variable: string) => {
    made.push(variable);
    return `${variable}??=`;
  };
  const edits = places.flatMap((place): Edit | [] => {
    const { node, parent } = place;
    if (constants.has(node.name ?? "")) {
      if (roleOf(place) !== "value") return [];
      return { ...node, text: `${parent?.shorthand ? `${node.name}:` : ""}${node.name}()` };
    }
    const constant = parent?.type === "VariableDeclarator" ? parent.id?.name : undefined;
    if (constant !== undefined && constants.get(constant) === node) {
      const start = `()=>${once(`${constant}$made`)}`;
      // What is in a `new RegExp(…)` may have places of its own.
      return node.regex
        ? { ...node, text: start + madeOfText(node.regex) }
        : { start: node.start, end: node.start, text: start };
    }
    if (!node.regex || !isCostly(node.regex)) return [];
    const text = madeOfText(node.regex);
    const isKept = place.isInFunction && (!/[gy]/.test(node.regex.flags) || beginsAnew(place));
    return { ...node, text: isKept ? `(${once(`pattern$made${made.length}`)}${text})` : text };
  });
  // Such variables are there from the beginning, wherever they are declared.
  return made.length === 0
    ? edited(code, edits)
    : `${edited(code, edits)}\nvar ${made.join(",")};\n`;
}

/** What is asked here of a node of the syntax tree. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly name?: string;
  readonly computed?: boolean;
  readonly shorthand?: boolean;
  readonly id?: Node;
  readonly init?: Node;
  readonly key?: Node;
  readonly label?: Node;
  readonly left?: Node;
  readonly params?: readonly Node[];
  readonly property?: Node;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
  readonly regex?: Pattern | null;
}

interface Pattern {
  readonly pattern: string;
  readonly flags: string;
}

interface Place {
  readonly node: Node;
  readonly parent: Node | undefined;
  /** The node above the parent. */
  readonly above: Node | undefined;
  /** Whether its code runs later than the module is loaded, or more than once. */
  readonly isInFunction: boolean;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function placesIn(program: Node): readonly Place[] {
  const places: Place[] = [];
  const visit = (node: Node, parent?: Node, above?: Node, isInFunction = false) => {
    places.push({ node, parent, above, isInFunction });
    const isInside = isInFunction || /Function/.test(node.type);
    for (const child of Object.values(node).flat()) {
      if (typeof child?.type === "string") visit(child, node, parent, isInside);
    }
  };
  visit(program);
  return places;
}

/** The constants of the module that are made when they are first used, by name, and what makes them. */
function constantsIn(places: readonly Place[]): ReadonlyMap<string, Node> {
  const constants = new Map<string, Node>();
  for (const { node, parent, isInFunction } of places) {
    const { name } = parent?.type === "VariableDeclarator" ? (parent.id ?? node) : node;
    const isPattern = node.regex ? isCostly(node.regex) : isNewPattern(node);
    if (isPattern && !isInFunction && parent?.init === node && name) constants.set(name, node);
  }
  for (const place of places) {
    const { name = "" } = place.node;
    if (roleOf(place) === "else" && place.parent?.init !== constants.get(name))
      constants.delete(name);
  }
  return constants;
}

function isNewPattern({ type, callee }: Node): boolean {
  return type === "NewExpression" && callee?.name === "RegExp";
}

/** Long lists of words take as long as sets of characters. */
function isCostly({ pattern }: Pattern): boolean {
  return /\\p\{/i.test(pattern) || pattern.length > 100;
}

function madeOfText({ pattern, flags }: Pattern): string {
  return `new RegExp(${JSON.stringify(pattern)},${JSON.stringify(flags)})`;
}

/** Whether a method is called with the pattern that starts at the beginning of its text, wherever the last match ended. */
function beginsAnew({ node, parent }: Place): boolean {
  const method = parent?.type === "CallExpression" ? parent.callee?.property?.name : undefined;
  return (
    node.regex?.flags.includes("y") === false &&
    parent?.arguments?.[0] === node &&
    /^(?:replace|replaceAll|match|matchAll|search|split)$/.test(method ?? "")
  );
}

/** Whether a name stands for its value, is only a word (`{ name: 1 }`, `of.name`), or is something else, as where it is declared. */
function roleOf({ node, parent, above }: Place): "value" | "word" | "else" {
  if (node.type !== "Identifier" || !parent || parent.label === node) return "word";
  if (!parent.computed && (parent.key === node || parent.property === node)) return "word";
  const declares =
    parent.id === node ||
    parent.params?.includes(node) ||
    /^(?:\w+Specifier|CatchClause|RestElement|ArrayPattern)$/.test(parent.type) ||
    (parent.type === "AssignmentPattern" && parent.left === node) ||
    (parent.type === "Property" && above?.type === "ObjectPattern");
  return declares ? "else" : "value";
}

function edited(code: string, edits: readonly Edit[]): string {
  let rest = 0;
  let result = "";
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += code.slice(rest, start) + text;
    rest = end;
  }
  return result + code.slice(rest);
}
