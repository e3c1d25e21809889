/** A number, or several of one kind, that a program which watches a server reads. Nothing in it was said. */
export interface Metric {
  /** Such as `rkat_store_up`. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** The end of the name: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly part?: string;
}

/** The metrics in Prometheus' text format. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(({ value, labels = {}, part = "" }) => {
          const named = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
          const all = named.length > 0 ? `{${named.join(",")}}` : "";
          return `${name}${part}${all} ${value === Infinity ? "+Inf" : value}`;
        }),
        "",
      ].join("\n"),
    )
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
