import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

interface VirtualListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string | number;
  /** The height of a row before it was measured. */
  readonly rowHeight: number;
  readonly render: (item: Item, index: number) => ComponentChildren;
  /** The row that is shown first. A new number scrolls there. */
  readonly shown?: number;
  /** Stays at the end while rows are added. */
  readonly follows?: boolean;
  readonly onEnd?: () => void;
}

/** A list of which only the rows in sight are in the document. Arrows, j and k go from row to row. */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { label, items, keyOf, rowHeight, render, shown, follows, onEnd } = props;
  const region = useRef<HTMLElement>(null);
  const [, repaint] = useReducer((times: number, _: unknown) => times + 1, 0);
  const current = useRef(-1);
  const options = {
    count: items.length,
    getScrollElement: () => region.current,
    estimateSize: () => rowHeight,
    getItemKey: (index: number) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: repaint as () => void,
  };
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  useLayoutEffect(() => {
    if (shown !== undefined && shown >= 0) list.scrollToIndex(shown, { align: "start" });
  }, [list, shown]);
  useLayoutEffect(() => {
    if (follows && items.length > 0) list.scrollToIndex(items.length - 1, { align: "end" });
  }, [list, follows, items.length]);

  const rows = list.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useLayoutEffect(() => {
    if (onEnd && items.length > 0 && last >= items.length - 10) onEnd();
  }, [onEnd, last, items.length]);

  const step = (by: number) => {
    const from = current.current < 0 ? (rows[0]?.index ?? 0) - Math.sign(by) : current.current;
    const to = Math.max(0, Math.min(items.length - 1, from + by));
    current.current = to;
    list.scrollToIndex(to);
    requestAnimationFrame(() =>
      region.current
        ?.querySelector<HTMLElement>(`[data-index="${to}"]`)
        ?.focus({ preventScroll: true }),
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      step(by);
    } else if (event.key === "End" || event.key === "Home") {
      event.preventDefault();
      step(event.key === "End" ? items.length : -items.length);
    }
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
    <section ref={region} class="list" aria-label={label} tabIndex={0} onKeyDown={onKeyDown}>
      <ol style={{ height: `${list.getTotalSize()}px` }}>
        {rows.map(({ key, index, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <li
              key={key}
              ref={(element) => void (element && list.measureElement(element))}
              data-index={index}
              tabIndex={-1}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
              onFocus={() => {
                current.current = index;
              }}
            >
              {render(item, index)}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
