import * as fc from "fast-check";
import { LONG } from "./trials.ts";

// The short run gives the same answer for the same commit. The long run tries new inputs each time.
if (!LONG) fc.configureGlobal({ seed: 20_260 });
