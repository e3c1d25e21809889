import { parseSync } from "rolldown/utils";

/**
 * The code of a module whose costly patterns are made when they are first used. V8 looks up all characters of `\p{L}` when it
 * reads the code, when it makes the pattern and when the pattern is first used, 50 µs each time. A search loads three hundred.
 *
 *     const WORD = /\p{L}+/u;           const WORD = () => WORD$made ??= new RegExp("\\p{L}+", "u");
 *     text.match(WORD);           ─►    text.match(WORD());
 *
 * A constant that other files import, or whose name means something else somewhere, stays a pattern, made from a text.
 *
 * A constant with several sets is made smaller for short texts in ASCII, as most questions are: `[A-Za-z]+` instead of `\p{L}+`. V8
 * makes that five times as quickly, and it finds the same.
 */
export function latePatterns(name: string, code: string): string {
  const places = placesIn(parseSync(name, code).program as unknown as Node);
  const constants = constantsIn(places);
  const made: string[] = [];
  const once = (variable: string) => {
    made.push(variable);
    return `${variable}??=`;
  };
  const smaller = patternsInAscii(places, constants);
  const edits = places.flatMap((place): Edit | [] => {
    const { node, parent } = place;
    if (constants.has(node.name ?? "")) {
      if (roleOf(place) !== "value") return [];
      const small = smaller.get(node.name ?? "");
      const made = `${node.name}(${(small && subjectOf(place, small)) ?? ""})`;
      return { ...node, text: `${parent?.shorthand ? `${node.name}:` : ""}${made}` };
    }
    const constant = parent?.type === "VariableDeclarator" ? parent.id?.name : undefined;
    if (constant !== undefined && constants.get(constant) === node) {
      const whole = once(`${constant}$made`);
      const small = smaller.get(constant);
      const start =
        small === undefined
          ? `()=>${whole}`
          : `(of)=>isAscii$(of)?${once(`${constant}$ascii`)}${madeOfText(small)}:${whole}`;
      // What is in a `new RegExp(…)` may have places of its own.
      return node.regex
        ? { ...node, text: start + madeOfText(node.regex) }
        : { start: node.start, end: node.start, text: start };
    }
    if (!node.regex || !isCostly(node.regex)) return [];
    const text = madeOfText(node.regex);
    const isKept =
      place.isInFunction && (!/[gy]/.test(node.regex.flags) || beginsAnew(place, node.regex));
    return { ...node, text: isKept ? `(${once(`pattern$made${made.length}`)}${text})` : text };
  });
  // Such variables are there from the beginning, wherever they are declared.
  return [
    edited(code, edits),
    ...(made.length === 0 ? [] : [`var ${made.join(",")};`]),
    ...(smaller.size === 0 ? [] : [IS_ASCII]),
  ].join("\n");
}

/** Longer texts are not looked through before they are read. */
const IS_ASCII = String.raw`var ascii$;
function isAscii$(text){return typeof text==="string"&&text.length<400&&(ascii$??=/^[\0-\x7f]*$/).test(text)}
`;

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
  readonly object?: Node;
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

/** The constants with several sets that are asked of a text with a name, and what finds the same in ASCII. */
function patternsInAscii(
  places: readonly Place[],
  constants: ReadonlyMap<string, Node>,
): ReadonlyMap<string, Pattern> {
  const uses = Map.groupBy(
    places.filter(({ node }) => constants.has(node.name ?? "")),
    ({ node }) => node.name ?? "",
  );
  return new Map(
    [...constants].flatMap(([name, { regex }]) => {
      const asked = (uses.get(name) ?? []).filter((place) => roleOf(place) === "value");
      if (!regex || !asked.some((place) => subjectOf(place, regex))) return [];
      // A pattern that remembers where it is has to be one.
      const remembers = /[gy]/.test(regex.flags);
      if (remembers && !asked.every((place) => beginsAnew(place, regex))) return [];
      const small = inAscii(regex);
      return small ? [[name, small] as const] : [];
    }),
  );
}

/** The text that a pattern is asked of, if that has a name. */
function subjectOf(place: Place, regex: Pattern): string | undefined {
  const { node, parent, above } = place;
  const isAsked = parent?.object === node && above?.callee === parent;
  const asked = isAsked && /^(?:test|exec)$/.test(parent.property?.name ?? "");
  const subject = asked
    ? above.arguments?.[0]
    : beginsAnew(place, regex)
      ? parent?.callee?.object
      : undefined;
  return subject?.type === "Identifier" ? subject.name : undefined;
}

const SETS_MIN = 2;
const SET = /\\p\{[^}]+\}/gi;

/** A pattern that finds the same in texts of ASCII alone; undefined where that is no smaller. */
export function inAscii({ pattern, flags }: Pattern): Pattern | undefined {
  const sets = pattern.match(SET)?.length ?? 0;
  if (sets < SETS_MIN || flags.includes("v")) return undefined;
  let isInClass = false;
  const small = pattern.replaceAll(/\\[pP]\{[^}]+\}|\\.|[[\]]/gs, (part) => {
    if (part === "[") isInClass = true;
    if (part === "]") isInClass = false;
    if (!/^\\p\{/i.test(part)) return part;
    return isInClass ? asciiOf(part) : `[${asciiOf(part)}]`;
  });
  return { pattern: small, flags };
}

/** The characters of a set that are in ASCII, as ranges in a class. */
function asciiOf(set: string): string {
  const isIn = new RegExp(set, "u");
  const codes = Array.from({ length: 128 }, (_, code) => code).filter((code) =>
    isIn.test(String.fromCharCode(code)),
  );
  return codes
    .filter((code) => !codes.includes(code - 1))
    .map((first) => {
      let last = first;
      while (codes.includes(last + 1)) last += 1;
      return `${inClass(first)}-${inClass(last)}`;
    })
    .join("");
}

function inClass(code: number): string {
  const text = String.fromCharCode(code);
  return /\w/.test(text) ? text : `\\x${code.toString(16).padStart(2, "0")}`;
}

function madeOfText({ pattern, flags }: Pattern): string {
  return `new RegExp(${JSON.stringify(pattern)},${JSON.stringify(flags)})`;
}

/** Whether a method is called with the pattern that starts at the beginning of its text, wherever the last match ended. */
function beginsAnew({ node, parent }: Place, { flags }: Pattern): boolean {
  const method = parent?.type === "CallExpression" ? parent.callee?.property?.name : undefined;
  return (
    !flags.includes("y") &&
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
