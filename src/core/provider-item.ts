/** What a provider made of a history for itself. Nobody else can read it, so it only ever stands beside a summary. */
export interface ProviderItem {
  /** The model that reads it, as `provider/model`. */
  readonly reader: string;
  /** The host's message with it, as JSON. */
  readonly message: object;
  readonly tokens: number;
}
