import type { FileChange } from "../file-change.ts";
import { plain, Words } from "../parts.tsx";

const NAMES = { "+": "added", "-": "removed", " ": "" } as const;

export function Change({ change: { path, lines, rest } }: { readonly change: FileChange }) {
  return (
    <figure class="change">
      <figcaption>{plain(path)}</figcaption>
      {lines.map(({ sign, text }, at) => (
        <div key={at} class={`line ${NAMES[sign]}`}>
          <span class="sign" aria-hidden="true">
            {sign}
          </span>
          {sign !== " " && <span class="unseen">{NAMES[sign]}: </span>}
          {plain(text)}
        </div>
      ))}
      {rest && <Words text={JSON.stringify(rest, null, 2)} mono whole />}
    </figure>
  );
}
