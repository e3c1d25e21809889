import type { CodeScan } from "./code-scan.ts";
import { PlainScan } from "./plain-scan.ts";
import { WasmScan } from "./wasm-scan.ts";

/** A scan in WebAssembly, or a plain one where Node was told to do without (`--jitless`). */
export function openCodeScan(): CodeScan {
  return "WebAssembly" in globalThis ? new WasmScan() : new PlainScan();
}
