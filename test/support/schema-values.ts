import fc from "fast-check";

/** The part of JSON Schema that the OpenAPI document uses for requests. */
export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** Values that a schema allows, its bounds among them. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return fc.oneof(...either.map(valuesOf));
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return textsOf(schema);
    case "integer":
      return fc.integer(boundsOf(schema, 1));
    case "number":
      return fc.double({ ...boundsOf(schema, 0), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "array": {
      const { minItems: minLength = 0, maxItems: maxLength = 3 } = schema;
      const few = { minLength, maxLength: Math.min(maxLength, minLength + 3) };
      return fc.array(valuesOf(schema.items ?? {}), few);
    }
    case "object":
      return objectsOf(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function textsOf({ minLength = 0, maxLength = 40, pattern }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length <= maxLength);
  }
  const text = fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 40) });
  return fc.oneof(
    { weight: 9, arbitrary: text.filter(({ length }) => length <= maxLength) },
    { weight: 1, arbitrary: fc.constant("x".repeat(Math.min(maxLength, 600))) },
    { weight: 2, arbitrary: fc.constant(" ".repeat(minLength)) },
  );
}

/** An integer has no bound beyond what JavaScript counts exactly, and the document says so. */
function boundsOf({ minimum = 0, exclusiveMinimum, maximum = 2 ** 53 }: Schema, step: number) {
  return { min: exclusiveMinimum === undefined ? minimum : exclusiveMinimum + step, max: maximum };
}

function objectsOf(schema: Schema): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const fields = Object.entries(properties).map(([name, field]) => [name, valuesOf(field)]);
  if (fields.length === 0 && typeof additionalProperties === "object") {
    const names = textsOf(propertyNames ?? {}).filter((name) => name !== "__proto__");
    return fc.dictionary(names, valuesOf(additionalProperties), {
      maxKeys: 3,
      noNullPrototype: true,
    });
  }
  return fc.record(Object.fromEntries(fields), {
    requiredKeys: [...required] as never[],
    noNullPrototype: true,
  });
}
