import type { MemoryStats } from "../../../../core/memory-store.ts";
import { amount, bytes, Failure, Meter, plain, useLoaded } from "../parts.tsx";
import type { ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";

/** How large everything is, and what is behind. */
export function HealthView({ source, about }: ViewProps) {
  const stats = useLoaded(() => source.get<Wire<MemoryStats>>("memory/stats"), [source]);
  const capabilities = useLoaded(
    () => source.get<{ capabilities: readonly string[] }>("capabilities"),
    [source],
  );
  const { value } = stats;
  return (
    <div class="view">
      <h1>Health</h1>
      <Failure error={stats.error ?? capabilities.error} />
      <div class="scroll">
        <dl class="facts-list">
          <dt>Project</dt>
          <dd>{plain(about.project ?? "unknown")}</dd>
          <dt>rkat</dt>
          <dd>{plain(about.version ?? "unknown")}</dd>
          <dt>It has</dt>
          <dd>{capabilities.value?.capabilities.join(", ")}</dd>
          {value && (
            <>
              <dt>Entries of memory</dt>
              <dd>
                {amount(value.entries)}, of {amount(value.sessions)} sessions
              </dd>
              <dt>Their text</dt>
              <dd>{bytes(value.text_bytes)}</dd>
              <dt>Index</dt>
              <dd>
                {plain(value.index)}
                {value.disk_bytes === undefined ? "" : `, ${bytes(value.disk_bytes)} on the disk`}
              </dd>
            </>
          )}
          {value?.vectors && (
            <>
              <dt>Vectors</dt>
              <dd>
                {plain(value.vectors.embedder)}: {amount(value.vectors.embedded)} made,{" "}
                {amount(value.vectors.pending)} are still to be made{" "}
                <Meter
                  label="Vectors made"
                  used={value.vectors.embedded}
                  of={value.vectors.embedded + value.vectors.pending}
                />
              </dd>
            </>
          )}
        </dl>
        <p class="quiet">
          `rkat doctor` looks at the files, and `rkat memory verify` compares memory with the log.
        </p>
      </div>
    </div>
  );
}
