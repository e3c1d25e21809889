/** A name as it is on the wire: `session_id` for `sessionId`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? Rest extends Uncapitalize<Rest>
    ? `${Uncapitalize<First>}${SnakeCase<Rest>}`
    : `${Uncapitalize<First>}_${SnakeCase<Rest>}`
  : Name;

/** A result of an operation as REST gives it. Names that are data, such as those of labels, stay. */
export type Wire<Value> = Value extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value as Name extends string
          ? string extends Name
            ? Name
            : SnakeCase<Name>
          : Name]: Wire<Value[Name]>;
      }
    : Value;
