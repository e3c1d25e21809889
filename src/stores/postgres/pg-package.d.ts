// The part of the package `pg` that rkat uses. The package brings no types.
declare module "pg" {
  interface Connection {
    query(statement: string | object, values?: unknown[]): Promise<{ rows: unknown[] }>;
    on(event: "error", listener: (error: Error) => void): unknown;
    end(): Promise<void>;
  }
  class Client implements Connection {
    constructor(options: object);
    connect(): Promise<void>;
    connect(done: (error?: Error) => void): void;
    query(statement: string | object, values?: unknown[]): Promise<{ rows: unknown[] }>;
    on(event: "error", listener: (error: Error) => void): unknown;
    on(event: "notification", listener: (notice: { readonly payload?: string }) => void): unknown;
    end(): Promise<void>;
  }
  class Pool implements Connection {
    constructor(options: object);
    connect(): Promise<Client & { release(error?: Error | boolean): void }>;
    connect(done: (error?: Error) => void): void;
    query(statement: string | object, values?: unknown[]): Promise<{ rows: unknown[] }>;
    on(event: "error", listener: (error: Error) => void): unknown;
    on(event: "connect", listener: (client: Client) => void): unknown;
    end(): Promise<void>;
  }
  const pg: { readonly Client: typeof Client; readonly Pool: typeof Pool };
  export default pg;
}
