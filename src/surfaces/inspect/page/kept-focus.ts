const REACHABLE =
  "a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";

/**
 * Keeps the place of the keyboard. What it was in may leave the page, as a button does whose work is done, or may not be
 * pressed any more. The keyboard is then in what comes next beside it, else in what is around it, and in a new view at
 * its beginning. Without this it would be at the beginning of the page, and a screen reader would say nothing.
 */
export function keepFocus(page: HTMLElement): void {
  let last: HTMLElement | undefined;
  page.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement) last = target;
  });
  // A pointer that is pressed elsewhere takes the place of the keyboard.
  addEventListener("pointerdown", () => {
    last = undefined;
  });
  const watched = {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["disabled"],
  };
  new MutationObserver((changes) => {
    if (last === undefined || document.activeElement !== document.body) return;
    if (last.isConnected && !last.matches(":disabled")) return;
    nextTo(last, changes)?.focus({ preventScroll: true });
  }).observe(page, watched);
}

function nextTo(gone: HTMLElement, changes: readonly MutationRecord[]): HTMLElement | null {
  const main = document.querySelector<HTMLElement>("main");
  const removed = changes.findLast(
    ({ target, removedNodes }) =>
      target.isConnected && [...removedNodes].some((node) => node.contains(gone)),
  );
  let around = gone.isConnected ? gone.parentElement : removed?.target;
  let before = gone.isConnected ? gone : removed?.previousSibling;
  // A list of which only a part is in the document is gone through from where it is.
  if (around instanceof HTMLElement && around.parentElement?.matches(".list"))
    return around.parentElement;
  for (; around instanceof HTMLElement && main?.contains(around) && around !== main; ) {
    const inside = [...around.querySelectorAll<HTMLElement>(REACHABLE)];
    const next = inside.find((one) => before?.isConnected && isBehind(one, before));
    const found = next ?? inside.at(before?.isConnected ? -1 : 0);
    if (found) return found;
    before = around;
    around = around.parentElement;
  }
  return main;
}

function isBehind(one: Node, other: Node): boolean {
  return (other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}
