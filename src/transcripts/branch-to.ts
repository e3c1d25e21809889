/**
 * The branch of a tree that ends at `leaf`, from its root: the leaf, its parent, the parent of that, … turned round.
 * A parent that is not there ends it, and so does a circle.
 */
export function branchTo<Id>(leaf: Id, parentOf: (id: Id) => Id | undefined): readonly Id[] {
  const branch = new Set<Id>();
  for (let id: Id | undefined = leaf; id !== undefined && !branch.has(id); id = parentOf(id)) {
    branch.add(id);
  }
  return [...branch].reverse();
}
