/** A table that is made when it is first asked for: not each program that loads its module needs it. */
export function madeOnce<Table extends object>(make: () => Table): () => Table {
  let made: Table | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
