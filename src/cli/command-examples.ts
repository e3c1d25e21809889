import type { Command } from "commander";

/** Examples for the help of each command, as people type them. A group shows those of its commands that are used most. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  run: [
    'rkat run "what does this project do?"',
    'git diff | rkat run "review this"',
    'rkat run --tools read --output json "list the TODO comments" > todos.json',
  ],
  resume: ['rkat resume last "and the tests?"', "rkat resume ~1"],
  continue: ['rkat continue "and the tests?"', "rkat c"],
  chat: ["rkat chat", "rkat chat --resume last", "rkat chat -m ollama/llama3.2 --tools none"],
  sessions: ["rkat sessions list", "rkat sessions show last"],
  "sessions create": [
    "rkat sessions create --label task=parser",
    "rkat sessions create -m ollama/llama3.2 --messages history.jsonl",
  ],
  "sessions append": ["rkat sessions append last --messages turn.jsonl --key turn-17"],
  "sessions list": [
    "rkat sessions list --label task=parser",
    "rkat sessions list --agent claude-code --all",
    "rkat sessions list --deleted",
  ],
  "sessions show": ["rkat sessions show last", "rkat sessions show 019b2c4e --json"],
  "sessions context": ["rkat sessions context last"],
  "sessions cost": ["rkat sessions cost last", "rkat sessions cost last --json"],
  "sessions task": [
    "rkat sessions task last",
    'rkat sessions task last --goal "ship 1.0" --add "write the changelog"',
    "rkat sessions task last --done 1 --note port=7443",
  ],
  "sessions pins": ["rkat sessions pins last"],
  "sessions pin": ["rkat sessions pin last 0", "rkat sessions pin last @17"],
  "sessions unpin": ["rkat sessions unpin last @17"],
  "sessions archive": ["rkat sessions archive last"],
  "sessions unarchive": ["rkat sessions unarchive 019b2c4e"],
  "sessions delete": ["rkat sessions delete last", "rkat sessions delete 019b2c4e --now --yes"],
  "sessions restore": ["rkat sessions restore last", "rkat sessions restore 019b2c4e"],
  "sessions diff": ["rkat sessions diff last", "rkat sessions diff last --event 120"],
  "sessions why": ["rkat sessions why last @17"],
  "sessions log": ["rkat sessions log last --limit 20", "rkat sessions log last --before 500"],
  "sessions fork": ["rkat sessions fork last", "rkat sessions fork last --at @17"],
  "sessions bring-back": [
    "rkat sessions bring-back last @17",
    "rkat sessions bring-back last --turn 3 --pin",
  ],
  "sessions not-this": [
    "rkat sessions not-this last",
    "rkat sessions not-this last 019b2c4e-8d31:12",
  ],
  "sessions allow-recall": ["rkat sessions allow-recall last 019b2c4e-8d31:12"],
  "sessions undo": ["rkat sessions undo last", "rkat sessions undo last --redo"],
  "sessions compact": [
    "rkat sessions compact last",
    'rkat sessions compact last --instructions "keep decisions about the schema"',
  ],
  "sessions events": [
    "rkat sessions events last --follow",
    "rkat sessions events last --after 120 > events.jsonl",
  ],
  "sessions project": ["rkat sessions project"],
  history: ['rkat history search "ECONNREFUSED"'],
  "history search": [
    'rkat history search "ECONNREFUSED" --since 2026-01-01',
    "rkat history search parse.ts --session last",
  ],
  memory: ['rkat memory search "why did we choose SQLite"', "rkat memory stats"],
  "memory search": [
    'rkat memory search "why did we choose SQLite"',
    'rkat memory search "port of staging" -q "address of staging" --limit 3',
    "rkat memory search deadline --role user --since 2026-01-01 --json",
  ],
  "memory list": ["rkat memory list --session last", "rkat memory list --kind preference"],
  "memory stats": ["rkat memory stats", "rkat memory stats --scope user"],
  "memory add": [
    'rkat memory add "Staging listens on port 7443."',
    "rkat memory add --jsonl memory.jsonl",
  ],
  "memory sources": [
    "rkat memory sources 019b2c4e-8d31:12",
    "rkat memory sources --session last --event 120",
  ],
  "memory export": [
    "rkat memory export > memory.jsonl",
    "rkat memory export --session last --jsonl session.jsonl",
  ],
  "memory edit": ['rkat memory edit added:Zk2v "Staging listens on port 7444."'],
  "memory keep-both": [
    "rkat memory keep-both added:Zk2v 0199a1b2:14",
    "rkat memory keep-both added:Zk2v 0199a1b2:14 --undo",
  ],
  "memory pin": ["rkat memory pin added:Zk2v"],
  "memory unpin": ["rkat memory unpin added:Zk2v"],
  "memory forget": [
    "rkat memory forget 019b2c4e-8d31:12",
    'rkat memory forget --query "the port of staging"',
    "rkat memory forget --session last",
  ],
  "memory verify": ["rkat memory verify"],
  "memory reindex": ["rkat memory reindex"],
  approvals: ["rkat approvals list", "rkat approvals allow"],
  "approvals list": ["rkat approvals list --session last"],
  "approvals allow": ["rkat approvals allow", 'rkat approvals allow 7f3a --reason "it is a copy"'],
  "approvals deny": ['rkat approvals deny --reason "use pnpm, not npm"'],
  "approvals rules": ["rkat approvals rules"],
  "approvals revoke": [
    "rkat approvals revoke write_file",
    "rkat approvals revoke run_command npm test",
  ],
  knowledge: ["rkat knowledge list --kind rule", 'rkat knowledge add "Use pnpm, never npm."'],
  "knowledge list": ["rkat knowledge list --kind rule", "rkat knowledge list pnpm --pinned"],
  "knowledge show": ["rkat knowledge show 8c1f"],
  "knowledge add": [
    'rkat knowledge add "Run the tests before you commit."',
    'rkat knowledge add --kind fact --tag staging "Staging listens on port 7443."',
  ],
  "knowledge edit": ['rkat knowledge edit 8c1f "Use pnpm 10, never npm."'],
  "knowledge pin": ["rkat knowledge pin 8c1f"],
  "knowledge unpin": ["rkat knowledge unpin 8c1f"],
  "knowledge forget": ["rkat knowledge forget 8c1f"],
  "knowledge distill": ["rkat knowledge distill"],
  import: [
    "rkat import",
    "rkat import claude-code --since 2026-01-01",
    "rkat import ~/Downloads/export.zip",
  ],
  install: ["rkat install claude-code", "rkat install codex --scope project --print"],
  uninstall: ["rkat uninstall claude-code"],
  handoff: [
    "rkat handoff last > handoff.md",
    "rkat handoff last --to codex",
    "rkat handoff ~/.claude/projects/-home-ada-app/0191….jsonl --to codex",
  ],
  replay: [
    "rkat replay --longest claude-code",
    "rkat replay ~/.codex/sessions --compact-threshold 50000",
  ],
  rpc: ["rkat rpc", "rkat --dir ~/app rpc --scope all"],
  serve: ["rkat serve --port 8080", "RKAT_TOKEN=… rkat serve --host 0.0.0.0 --drain 10s"],
  mcp: ["rkat mcp", "rkat mcp --tools default,turn_start", "rkat mcp --http --port 8081"],
  "mcp add": [
    "rkat mcp add tickets -- node tickets-server.js",
    "rkat mcp add wiki --url https://wiki.example.com/mcp",
  ],
  "mcp remove": ["rkat mcp remove tickets"],
  "mcp list": ["rkat mcp list", "rkat mcp list --json"],
  "mcp allow": ["rkat mcp allow tickets"],
  "mcp login": ["rkat mcp login wiki", "rkat mcp login wiki --no-open --port 7777"],
  "mcp logout": ["rkat mcp logout wiki"],
  embeddings: ["rkat embeddings install ~/models/potion-base-8M"],
  "embeddings install": [
    "rkat embeddings install ~/models/potion-base-8M",
    "rkat embeddings install minishlab/potion-base-8M",
  ],
  "embeddings remove": ["rkat embeddings remove potion-base-8M-2f6b0c1d9e8a7543"],
  inspect: ["rkat inspect", "rkat inspect last --write", "rkat inspect last --export session.html"],
  init: ["rkat init"],
  trust: ["rkat trust --show", "rkat trust"],
  move: [
    "rkat move --to postgres://ada@db.example.com/rkat",
    "rkat move --from .rkat/rkat.db --to ~/backup/rkat.db",
  ],
  backup: ["rkat backup ~/backups/shop.backup", "rkat backup library.backup --scope user --force"],
  export: ["rkat export shop.jsonl", "rkat export for-a-colleague.jsonl --redact"],
  restore: [
    "rkat restore ~/backups/shop.backup",
    "rkat restore ~/backups/shop.backup --compare",
    "rkat --store postgres://ada@db.example.com/rkat restore shop.backup",
  ],
  config: ["rkat config", "rkat --dir ~/app config --json"],
  capabilities: ["rkat capabilities"],
  doctor: ["rkat doctor", "rkat doctor --online"],
  repair: ["rkat repair"],
  help: ["rkat help memory search"],
  completion: ["rkat completion zsh"],
};

/** Adds examples to the help of each command that has some, and of the commands in it. */
export function addExamples(program: Command, path: readonly string[] = []): void {
  for (const command of program.commands) {
    const names = [...path, command.name()];
    const examples = EXAMPLES[names.join(" ")];
    if (examples) {
      command.addHelpText(
        "after",
        `\nExamples:\n${examples.map((line) => `  ${line}\n`).join("")}`,
      );
    }
    addExamples(command, names);
  }
}
