import type { Explained, PlanNode } from "./explained-pool.ts";

/** How many times more or fewer rows than the server expected. */
const OFF = 100;
/** Rows that a node may read for nothing, and for each one that it keeps. */
const FOR_NOTHING = 200;
const FOR_EACH = 10;

/** What is wrong with the plan of a statement, a sentence each. `big` are the tables that grow. */
export function planComplaints(explained: Explained, big: ReadonlySet<string>): readonly string[] {
  const statement = explained.text.replace(/\s+/g, " ").trim().slice(0, 120);
  const found = explained.plans.flatMap((plan) => nodeComplaints(plan, big, false));
  return [...new Set(found)].map((complaint) => `${complaint}: ${statement}`);
}

/** A node below a limit is stopped when there is enough. */
function nodeComplaints(
  node: PlanNode,
  big: ReadonlySet<string>,
  isStopped: boolean,
): readonly string[] {
  const type = node["Node Type"];
  const stopsOthers = isStopped || type === "Limit";
  const below = (node.Plans ?? []).flatMap((one) => nodeComplaints(one, big, stopsOthers));
  return node["Actual Loops"] === 0 ? below : [...ownComplaints(node, big, isStopped), ...below];
}

function ownComplaints(
  node: PlanNode,
  big: ReadonlySet<string>,
  isStopped: boolean,
): readonly string[] {
  const name =
    node["Index Name"] ??
    node["Relation Name"] ??
    node["CTE Name"] ??
    node["Function Name"] ??
    "rows";
  const { "Plan Rows": expected, "Actual Rows": found, "Node Type": type } = node;
  const complaints: string[] = [];
  if (type.endsWith("Seq Scan") && big.has(node["Relation Name"] ?? "")) {
    complaints.push(`reads all of ${name}`);
  }
  const isMore = found + 1 >= OFF * (expected + 1);
  const isLess = !isStopped && expected + 1 >= OFF * (found + 1);
  if (isMore || isLess)
    complaints.push(`${type} of ${name} expects ${expected} rows, not ${found}`);
  const dropped =
    (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  if (dropped > FOR_NOTHING + FOR_EACH * found) {
    complaints.push(`${type} of ${name} reads ${dropped} rows for ${found}`);
  }
  return complaints;
}

/** The rows that all nodes of a plan handle: what a statement costs, as a count. */
export function rowsOf(node: PlanNode): number {
  const own =
    node["Actual Rows"] +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return own * node["Actual Loops"] + (node.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), 0);
}
