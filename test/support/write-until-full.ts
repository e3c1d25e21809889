import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BackupFile, writeBackup } from "../../src/backup/backup-file.ts";
import { writeExport } from "../../src/backup/write-export.ts";
import { ephemeralStores } from "../../src/stores/ephemeral/ephemeral-stores.ts";
import { execFileSync } from "./start-process.ts";

// Writes an export, a backup and a part of the backup again, each twice: first whole, and then where the disk has no room for its
// last bytes. Sends what became of each second attempt.
const [folder = ""] = process.argv.slice(2);
const watch = { key: undefined, signal: new AbortController().signal, onProgress() {} };
const store = join(folder, "store.db");
writeFileSync(store, "the store. ".repeat(500));
const stores = ephemeralStores();

const WRITERS = {
  export: (file: string) => writeExport(file, stores, { ...watch, redact: false }),
  async backup(file: string) {
    const bytes = await writeBackup(file, [{ name: "project", file: store }], {
      ...watch,
      madeAt: new Date(0),
    });
    return { bytes };
  },
  async part(file: string) {
    const backup = await BackupFile.open(join(folder, "backup whole"));
    await backup.extract("project", file, watch);
    return { bytes: 11 * 500 };
  },
};

function limit(bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:unlimited`]);
}

for (const [name, write] of Object.entries(WRITERS)) {
  const { bytes } = await write(join(folder, `${name} whole`));
  limit(bytes - 30);
  const written = await write(join(folder, `${name} cut off`)).then(
    () => "written",
    () => "refused",
  );
  limit("unlimited");
  console.log(`${name} ${written}`);
}
