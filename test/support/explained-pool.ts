import pg from "pg";
import type {
  PostgresClient,
  PostgresPool,
  PostgresStatement,
} from "../../src/stores/postgres/postgres-pool.ts";

/** A node of a plan, as PostgreSQL says it in JSON. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "CTE Name"?: string;
  readonly "Function Name"?: string;
  readonly "Plan Rows": number;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** A statement with what it was asked with, and how the server ran it. */
export interface Explained {
  readonly text: string;
  /** Named statements are planned once for all values too. */
  readonly plans: readonly PlanNode[];
}

type Client = Pick<PostgresClient, "query">;

/** What no plan is made for. */
const NO_PLAN = /^\s*(begin|commit|rollback|savepoint|vacuum|listen|create|alter)\b/i;

/**
 * A pool that has each statement explained before it is sent: it runs, and is undone. So a statement that writes is
 * explained on the state that it finds.
 */
export class ExplainedPool {
  readonly statements: Explained[] = [];
  readonly #pool: InstanceType<typeof pg.Pool>;

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({ connectionString, max: 4 });
  }

  /** Without `idleCount`, so that statements come through `query`. */
  get pool(): PostgresPool {
    return {
      query: async (statement) => {
        const client = await this.#pool.connect();
        try {
          return await this.#explained(client, statement, false);
        } finally {
          client.release();
        }
      },
      connect: async () => {
        const client = await this.#pool.connect();
        let isBegun = false;
        return {
          query: async (statement) => {
            const sent = await this.#explained(client, statement, isBegun);
            if (/^\s*begin\b/i.test(statement.text)) isBegun = true;
            if (/^\s*(commit|rollback)\s*$/i.test(statement.text)) isBegun = false;
            return sent;
          },
          release: (error) => client.release(error),
        };
      },
      end: () => this.#pool.end(),
    };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  async #explained(client: Client, statement: PostgresStatement, isBegun: boolean) {
    const { text } = statement;
    if (!NO_PLAN.test(text)) {
      await client.query({ text: isBegun ? "savepoint explained" : "begin" });
      try {
        this.statements.push({ text, plans: await plansOf(client, statement) });
      } finally {
        const undo = isBegun ? "rollback to savepoint explained" : "rollback";
        await client.query({ text: undo });
      }
    }
    return await client.query(statement);
  }
}

async function plansOf(client: Client, { text, values = [], name }: PostgresStatement) {
  const own = await planOf(client, { text: `explain (analyze, format json) ${text}`, values });
  if (name === undefined || values.length === 0) return [own];
  // As for a connection that has used it often.
  const begin = "savepoint once_for_all; set local plan_cache_mode = force_generic_plan";
  await client.query({ text: `${begin}; prepare for_all as ${text}` });
  const run = `execute for_all (${values.map(literal)})`;
  const forAll = await planOf(client, { text: `explain (analyze, format json) ${run}` });
  await client.query({ text: "deallocate for_all; rollback to savepoint once_for_all" });
  return [own, forAll];
}

async function planOf(client: Client, statement: PostgresStatement): Promise<PlanNode> {
  const { rows } = await client.query(statement);
  const [row] = rows as readonly { "QUERY PLAN": readonly { readonly Plan: PlanNode }[] }[];
  const plan = row?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("The server explained nothing.");
  return plan;
}

/** A value as a literal of SQL, as `pg` would send it. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  const text = Array.isArray(value) ? arrayText(value) : valueText(value);
  return `'${text.replaceAll("'", "''")}'`;
}

function arrayText(values: readonly unknown[]): string {
  const all = values.map((value) => {
    if (value === null || value === undefined) return "NULL";
    return `"${valueText(value).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  });
  return `{${all}}`;
}

function valueText(value: unknown): string {
  return value instanceof Uint8Array
    ? `\\x${Buffer.from(value).toString("hex")}`
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
}
