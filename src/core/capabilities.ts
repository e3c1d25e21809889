/**
 * What a service can do beyond running turns. A capability is something you
 * pass: stores, a memory store, a compactor.
 */
export const CAPABILITIES = ["session-store", "memory-store", "session-compaction"] as const;

export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITY_DESCRIPTIONS: Readonly<Record<Capability, string>> = {
  "session-store": "Sessions outlive the process: resume, read, list, archive, delete, search.",
  "memory-store": "What compaction removed, and what was added by hand, can be searched.",
  "session-compaction": "Histories are compacted before they outgrow the context window.",
};
