/**
 * An object that is another one, but for some methods. All else of it is the other's, which may have private fields and be
 * asked for its class.
 */
export function withMethods<Target extends object>(
  target: Target,
  methods: { readonly [Name in keyof Target]?: Target[Name] },
): Target {
  // A frozen object would not let others stand for its methods, so nothing of its own is shown.
  return new Proxy(Object.create(target) as Target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && name !== "constructor" ? value.bind(target) : value;
    },
    set: (_, name, value) => Reflect.set(target, name, value, target),
  });
}
