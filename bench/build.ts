import { type BuildOptions, build } from "rolldown";
import config from "../rolldown.config.ts";

/** Builds the package before it is measured: users run the build, not the sources. */
await build({ ...(config as BuildOptions), logLevel: "silent" });
