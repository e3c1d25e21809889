import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { keepFocus } from "./kept-focus.ts";
import { Failure, headOf, plain, useLoaded } from "./parts.tsx";
import { hrefOf, type Route, routeOf } from "./route.ts";
import {
  type About,
  type ExportedData,
  FileSource,
  Refusal,
  ServerSource,
  type ShowsUsers,
  type Source,
  type ViewProps,
} from "./source.ts";
import { ApprovalsView } from "./views/approvals.tsx";
import { HealthView } from "./views/health.tsx";
import { KnowledgeView } from "./views/knowledge.tsx";
import { MemoryView } from "./views/memory.tsx";
import { RecallView } from "./views/recall.tsx";
import { SessionView } from "./views/session.tsx";
import { SessionsView } from "./views/sessions.tsx";

const KEPT = "rkat-token";

/** Takes the token out of the address, so that no history, no bookmark and no screenshot has it. */
function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token === null) return sessionStorage.getItem(KEPT) ?? undefined;
  const session = given.get("session");
  history.replaceState(null, "", session === null ? "#/sessions" : hrefOf(session));
  // For a reload of this tab. It ends with the tab.
  sessionStorage.setItem(KEPT, token);
  return token;
}

function embedded(): ExportedData | undefined {
  const text = document.getElementById("data")?.textContent;
  return text ? (JSON.parse(text) as ExportedData) : undefined;
}

function Start() {
  const [source, setSource] = useState<Source | undefined>(() => {
    const data = embedded();
    if (data) {
      if (location.hash === "")
        history.replaceState(null, "", hrefOf(data.exported?.session ?? ""));
      return new FileSource(data);
    }
    const token = takeToken();
    return token === undefined ? undefined : new ServerSource(token);
  });
  const about = useLoaded(source && (() => source.about()), [source]);
  const isRefused = about.error instanceof Refusal && about.error.status === 401;
  if (!source || isRefused) {
    return (
      <TokenForm
        isWrong={isRefused}
        onToken={(token) => {
          sessionStorage.setItem(KEPT, token);
          setSource(new ServerSource(token));
        }}
      />
    );
  }
  if (about.error !== undefined)
    return (
      <main class="alone">
        <Failure error={about.error} />
      </main>
    );
  if (!about.value)
    return (
      <main class="alone" aria-busy="true">
        Loading…
      </main>
    );
  return (
    <App
      key={source.user}
      source={source}
      about={about.value}
      onUser={(user) => {
        location.hash = "#/sessions";
        setSource(source.as?.(user));
      }}
    />
  );
}

function TokenForm({
  isWrong,
  onToken,
}: {
  readonly isWrong: boolean;
  readonly onToken: (token: string) => void;
}) {
  const [text, setText] = useState("");
  return (
    <main class="alone">
      <h1>rkat</h1>
      <p>
        {isWrong ? "This token is not the server's." : "This page needs the token of its server."}{" "}
        The command printed a link that has it. Open that link, or paste the token here.
      </p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") onToken(text.trim());
        }}
      >
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Open</button>
      </form>
    </main>
  );
}

const LINKS = [
  ["sessions", "Sessions"],
  ["recall", "Recall"],
  ["memory", "Memory"],
  ["knowledge", "Knowledge"],
  ["approvals", "Approvals"],
  ["health", "Health"],
] as const;

function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const onChange = () => {
      // The printed link, opened in a tab that has the page: its token leaves the address at the start.
      if (new URLSearchParams(location.hash.slice(1)).has("token")) return location.reload();
      setRoute(routeOf(location.hash));
    };
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

function App({ source, about, onUser }: ViewProps & ShowsUsers) {
  const route = useRoute();
  const isFile = about.exported !== undefined;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyped =
        event.target instanceof HTMLElement && event.target.closest("input, textarea, select");
      if (event.key !== "/" || isTyped || event.ctrlKey || event.metaKey) return;
      const field = document.querySelector<HTMLElement>("input[type=search]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const section = "session" in route ? "sessions" : route.view;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <span class="brand">rkat</span>
        {!isFile && (
          <nav aria-label="Views">
            {LINKS.map(([name, text]) => (
              <a key={name} href={`#/${name}`} aria-current={section === name ? "page" : undefined}>
                {text}
              </a>
            ))}
          </nav>
        )}
        <span class="where" title={plain(about.project ?? "")}>
          {plain(about.project?.split("/").at(-1) ?? "")}
        </span>
        {source.user !== undefined && (
          <button type="button" class="mode" onClick={() => onUser(undefined)}>
            as {headOf(source.user, 30)}, leave
          </button>
        )}
        <span class={about.writes ? "mode writes" : "mode"}>
          {isFile ? "a file" : about.writes ? "can write" : "reads only"}
        </span>
      </header>
      {about.exported && <Exported exported={about.exported} />}
      <main id="main" tabIndex={-1} key={section}>
        <View route={route} source={source} about={about} onUser={onUser} />
      </main>
    </>
  );
}

function Exported({ exported }: { readonly exported: NonNullable<About["exported"]> }) {
  const kinds = Object.entries(exported.redacted).map(([kind, count]) => `${count} × ${kind}`);
  return (
    <p class="banner">
      One session, exported on {exported.at.slice(0, 10)}.{" "}
      {kinds.length > 0
        ? `Replaced before it was written: ${kinds.join(", ")}.`
        : "No credential was found in it."}{" "}
      Read it before you pass it on.
    </p>
  );
}

function View({ route, onUser, ...props }: ViewProps & ShowsUsers & { readonly route: Route }) {
  if ("session" in route) return <SessionView key={route.session} {...props} route={route} />;
  const { view, asked } = route;
  switch (view) {
    case "recall":
      return <RecallView key={asked.toString()} {...props} asked={asked} />;
    case "memory":
      return <MemoryView key={asked.toString()} {...props} asked={asked} />;
    case "knowledge":
      return <KnowledgeView key={asked.toString()} {...props} asked={asked} />;
    case "approvals":
      return <ApprovalsView {...props} />;
    case "health":
      return <HealthView {...props} onUser={onUser} />;
    default:
      return <SessionsView {...props} />;
  }
}

const place = document.getElementById("app");
if (place) {
  keepFocus(place);
  render(<Start />, place);
}
