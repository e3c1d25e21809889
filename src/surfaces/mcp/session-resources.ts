import type { ListResourcesResult, ReadResourceResult } from "@modelcontextprotocol/server";
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { sessionView } from "../../core/operations/sessions.ts";
import type { SessionService } from "../../core/session-service.ts";
import { fromWire } from "../../core/wire.ts";
import { callOperation, wireError } from "../call-operation.ts";
import { sessionMarkdown } from "./session-markdown.ts";

const LIST = "rkat://sessions";
const SESSIONS_MAX = 50;

const LIST_RESOURCE = {
  uri: LIST,
  name: "sessions",
  description: `The newest ${SESSIONS_MAX} sessions of this project.`,
  mimeType: "application/json",
};

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${LIST}/{session_id}`,
    name: "session",
    description: "A session: its history as Markdown, and the whole session as JSON.",
    mimeType: "text/markdown",
  },
];

/** The newest sessions. None when the service does not list sessions. */
export async function listSessionResources(service: SessionService): Promise<ListResourcesResult> {
  try {
    const sessions = await service.list({ limit: SESSIONS_MAX });
    const resources = sessions.map(({ sessionId, turns, model, updatedAt }) => ({
      uri: `${LIST}/${encodeURIComponent(sessionId.toWellFormed())}`,
      name: sessionId,
      description: `${turns} turns with ${model}, last on ${updatedAt}`,
      mimeType: "text/markdown",
    }));
    return { resources: [LIST_RESOURCE, ...resources] };
  } catch (error) {
    if (SessionError.is(error) && error.code === "SESSION_PERSISTENCE_DISABLED") {
      return { resources: [] };
    }
    throw protocolError(error);
  }
}

/** @throws ProtocolError, with the code and the hint in its data. */
export async function readSessionResource(
  service: SessionService,
  uri: string,
): Promise<ReadResourceResult> {
  try {
    if (uri === LIST) {
      const list = await callOperation(service, "list", { limit: SESSIONS_MAX });
      return { contents: [json(uri, list)] };
    }
    const sessionId = uri.startsWith(`${LIST}/`) ? decoded(uri.slice(LIST.length + 1)) : "";
    if (sessionId === "") throw new ResourceNotFoundError(uri);
    const view = await callOperation(service, "read", { session_id: sessionId });
    const text = sessionMarkdown(fromWire(sessionView, view) as never);
    return { contents: [{ uri, mimeType: "text/markdown", text }, json(uri, view)] };
  } catch (error) {
    if (SessionError.is(error) && error.code === "SESSION_NOT_FOUND") {
      throw new ResourceNotFoundError(uri);
    }
    throw protocolError(error);
  }
}

function json(uri: string, value: unknown) {
  return { uri, mimeType: "application/json", text: JSON.stringify(value) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** A resource has no failed results, as a tool has, so a failure is one of the protocol. */
function protocolError(error: unknown): unknown {
  if (error instanceof ProtocolError) return error;
  const wire = wireError(SessionError.from(error));
  return new ProtocolError(ProtocolErrorCode.InternalError, wire.message, { ...wire });
}
