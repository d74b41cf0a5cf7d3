/** Return a copy without a prototype: a step may be named `__proto__` or `constructor`, and is a key like any other. */
export const bare = <T>(values: Record<string, T>): Record<string, T> =>
  Object.assign(Object.create(null), values) as Record<string, T>;
