/** An item that a provider made of a history. Only the provider can read it, so it stands beside a summary. */
export interface ProviderItem {
  /** The model that reads it, as `provider/model`. */
  readonly reader: string;
  /** The host's message with it, as JSON. */
  readonly message: object;
  readonly tokens: number;
}
