import { given, isObject } from "./fields.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Deeper parts of a schema take any value. */
const DEPTH_MAX = 50;

/**
 * The schema of a tool's arguments as providers take it: one that they refuse would end every turn. It follows draft 2020-12, and
 * is an object with properties. A choice at its top gives it the properties of all alternatives: the tool checks the rest.
 */
export function providerSchema(described: unknown): Schema & { readonly type: "object" } {
  const root = soundObject(isObject(described) ? described : {}, 0);
  const { $schema, $ref, allOf, anyOf, oneOf, not, enum: one, const: only, ...more } = root;
  const { if: _, then, else: otherwise, ...rest } = more;
  const parts = partsOf(root, root, true, new Set());
  const properties = propertiesOf(parts);
  const sure = parts.flatMap(({ part, isSure }) => (isSure ? listOf(part.required) : []));
  const required = [...new Set(sure)].filter((name) => Object.hasOwn(properties, String(name)));
  const schema = { ...rest, properties, required: required.length > 0 ? required : undefined };
  return { ...given(schema), type: "object" };
}

function propertiesOf(parts: readonly Part[]): Schema {
  const names = new Set(parts.flatMap(({ part }) => Object.keys(part.properties ?? {})));
  const properties = Array.from(names, (name) => {
    const found = parts.flatMap(({ part: { properties }, isSure }) =>
      isObject(properties) && Object.hasOwn(properties, name)
        ? [{ schema: properties[name], isSure }]
        : [],
    );
    const sure = found.find(({ isSure }) => isSure);
    return [name, sure ? sure.schema : anyOf(found.map(({ schema }) => schema))];
  });
  return Object.fromEntries(properties);
}

/** A schema that takes what any of these takes. The names of the cases, of which each alternative has one, become a list. */
function anyOf(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map(schemas.map((each) => [JSON.stringify(each), each])).values()];
  const [first] = distinct;
  if (distinct.length < 2 || !isObject(first)) return first;
  const values = distinct.map((each) => {
    if (!isObject(each)) return [];
    return "const" in each ? [each.const] : listOf(each.enum);
  });
  if (values.some((some) => some.length === 0)) return { anyOf: distinct };
  const { const: _, ...rest } = first;
  return { ...rest, enum: [...new Set(values.flat())] };
}

interface Part {
  readonly part: Schema;
  /** Whether it holds for all arguments. */
  readonly isSure: boolean;
}

/** A schema, and those that it refers to and chooses from. */
function partsOf(
  part: unknown,
  root: Schema,
  isSure: boolean,
  seen: Set<unknown>,
): readonly Part[] {
  if (!isObject(part) || seen.has(part)) return [];
  seen.add(part);
  const { $ref, allOf, anyOf, oneOf, then, else: otherwise } = part;
  return [
    { part, isSure },
    ...[referredTo($ref, root), ...listOf(allOf)].flatMap((each) =>
      partsOf(each, root, isSure, seen),
    ),
    ...[...listOf(anyOf), ...listOf(oneOf), then, otherwise].flatMap((each) =>
      partsOf(each, root, false, seen),
    ),
  ];
}

function referredTo(ref: unknown, root: Schema): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  return ref
    .slice(2)
    .split("/")
    .reduce<unknown>(
      (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      root,
    );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Keywords with schemas by name, and those with values of the tool's own. */
const TABLES = /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/;
const VALUES = /^(?:default|const|enum|examples)$/;
const TYPES = /^(?:array|boolean|integer|null|number|object|string)$/;

const isText = (value: unknown) => typeof value === "string";
const isSchema = (value: unknown) => isObject(value) || typeof value === "boolean";

/** The values that keywords may hold. Earlier drafts and mistakes have something else. */
const MAY_HOLD: readonly (readonly [RegExp, (value: unknown) => boolean])[] = [
  [/^type$/, (value) => [value].flat().every((type) => isText(type) && TYPES.test(String(type)))],
  [/^required$/, (value) => Array.isArray(value) && value.every(isText)],
  [/^(?:exclusive)?m(?:in|ax)|^multipleOf$/i, (value) => typeof value === "number"],
  [/^(?:description|title|format|pattern|\$ref|\$id|\$schema)$/, isText],
  [/^(?:any|all|one)Of$/, (value) => Array.isArray(value) && value.length > 0],
  [/^(?:additionalProperties|contains|propertyNames|not|if|then|else)$/, isSchema],
  [/^enum$/, (value) => Array.isArray(value) && value.length > 0],
  [TABLES, isObject],
];

function sound(schema: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) return {};
  if (Array.isArray(schema)) return schema.map((each) => sound(each, depth + 1));
  return isObject(schema) ? soundObject(schema, depth) : schema;
}

function soundObject(schema: Schema, depth: number): Schema {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    const isWrong = MAY_HOLD.some(([keys, may]) => keys.test(key) && !may(value));
    if (isWrong || (value === null && !VALUES.test(key))) return [];
    if (VALUES.test(key)) return [[key, value]];
    if (TABLES.test(key)) return [[key, soundTable(Object(value), depth)]];
    // Until 2019 a list of items was one schema for each place.
    const name = key === "items" && Array.isArray(value) ? "prefixItems" : key;
    return [[name, sound(value, depth + 1)]];
  });
  const fields: Schema = Object.fromEntries(entries);
  const isList = [fields.type].flat().includes("array");
  return isList && !("items" in fields) ? { ...fields, items: {} } : fields;
}

function soundTable(table: Schema, depth: number): Schema {
  const entries = Object.entries(table).map(([name, schema]) => [
    name,
    isSchema(schema) ? sound(schema, depth + 1) : {},
  ]);
  return Object.fromEntries(entries);
}
