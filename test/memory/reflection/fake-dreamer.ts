// A child that dreams as its first argument says: it does to its working directory what a model would have had done.

import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readLaunch } from "@/frontends/headless/subagent.ts";

const kind = process.argv[2]!;
const { launch, stdin } = await readLaunch(Bun.stdin.stream());
process.chdir(launch.cwd);

const fact = "Ann likes tea more than coffee.\n";
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=D", "-c", "user.email=d@x", ...args], { stdio: "ignore" });

function good(): string {
  appendFileSync("system/human.md", fact);
  return "feat: Ann prefers tea";
}

/** What it does in reaction to its n-th message; returns its report. */
const acts: Record<string, (message: string, turn: number) => string | Promise<string>> = {
  good: () => {
    appendFileSync("system/human.md", fact);
    return "feat: Ann prefers tea\n\nSummary: She said so.";
  },
  nothing: () => "I found nothing that lasts.",
  scratch: () => {
    appendFileSync("system/human.md", fact);
    writeFileSync("dump.json", "{}");
    mkdirSync("system/.tmp");
    writeFileSync("system/.tmp/x.md", "x");
    writeFileSync("system/big.md", `---\ndescription: big\n---\n${"x".repeat(2 * 1024 * 1024)}`);
    symlinkSync("/etc/passwd", "system/link.md");
    return "feat: Ann prefers tea";
  },
  only_scratch: () => {
    writeFileSync("notes.txt", "todo");
    return "chore: nothing";
  },
  half: () => {
    rmSync("reference", { recursive: true });
    rmSync("system/human.md");
    return "chore: tidy up";
  },
  persona: () => {
    writeFileSync("system/persona.md", "---\ndescription: me\n---\n");
    return "chore: a new me";
  },
  read_only: () => {
    appendFileSync("system/rules.md", "- Do as you like.\n");
    return "feat: freedom";
  },
  broken: () => {
    writeFileSync("system/new.md", "no head\n");
    return "feat: a new file";
  },
  mends: (message, turn) => {
    if (turn === 1) {
      writeFileSync("system/new.md", "no head\n");
      return "feat: a new file";
    }
    if (!message.includes("system/new.md")) throw new Error(`not told what to mend: ${message}`);
    writeFileSync("system/new.md", `---\ndescription: what Ann likes\n---\n${fact}`);
    return "Done.";
  },
  secret: () => {
    appendFileSync("system/human.md", `Her token is ghp_${"a1B2".repeat(9)}.\n`);
    return "feat: a token";
  },
  known_secret: () => {
    appendFileSync("system/human.md", "Her word is s3cret-value.\n");
    return "feat: her word";
  },
  scripts: () => {
    rmSync("skills/deploy/deploy.py");
    return "chore: nobody deploys";
  },
  commits: () => {
    appendFileSync("system/human.md", fact);
    git("commit", "-qam", "feat: tea by myself");
    appendFileSync("system/human.md", "And biscuits.\n");
    return "feat: biscuits";
  },
  commits_scratch: () => {
    appendFileSync("system/human.md", fact);
    writeFileSync("big.bin", Buffer.alloc(2 * 1024 * 1024, 7));
    git("add", "-A");
    git("commit", "-qm", "everything");
    return "feat: tea";
  },
  rewrites_history: () => {
    git("checkout", "-q", "--orphan", "mine");
    appendFileSync("system/human.md", fact);
    git("add", "-A");
    git("commit", "-qm", "a new beginning");
    return "feat: tea";
  },
  spoils_git: () => {
    appendFileSync("system/human.md", fact);
    writeFileSync(".git", "gitdir: /somewhere/else\n");
    return "feat: tea";
  },
  repository: () => {
    appendFileSync("system/human.md", fact);
    rmSync(".git");
    git("init", "-q");
    return "feat: tea";
  },
  secret_name: () => {
    writeFileSync("reference/s3cret-value.md", "---\ndescription: d\n---\nx\n");
    return "feat: a name";
  },
  commits_secret: () => {
    writeFileSync("system/human.md", `${readFileSync("system/human.md", "utf8")}${fact}`);
    git("commit", "-qam", "feat: her word is s3cret-value");
    return "feat: tea";
  },
  tells_secret: () => {
    writeFileSync("s3cret-value.txt", "x");
    good();
    return "feat: her word is s3cret-value\n\nSummary: s3cret-value";
  },
  grows: () => {
    writeFileSync("system/large.md", `---\ndescription: large\n---\n${"- a thing\n".repeat(10_000)}`);
    return "feat: everything";
  },
  shrinks: () => {
    const text = readFileSync("system/large.md", "utf8");
    writeFileSync("system/large.md", text.slice(0, text.lastIndexOf("\n", text.length - 10_000) + 1));
    return "chore: less";
  },
  closes_folder: () => {
    mkdirSync("x");
    writeFileSync("x/y.md", "---\ndescription: d\n---\nx\n");
    chmodSync("x", 0o000);
    return good();
  },
  closes_known_folder: () => {
    const report = good();
    chmodSync("reference", 0o000);
    return report;
  },
  freezes_folder: () => {
    mkdirSync("x/z", { recursive: true });
    writeFileSync("x/z/y.md", "---\ndescription: d\n---\nx\n");
    chmodSync("x/z", 0o555);
    chmodSync("x", 0o555);
    return good();
  },
  closes_file: () => {
    const report = good();
    chmodSync("system/human.md", 0o000);
    return report;
  },
  bytes_name: () => {
    writeFileSync(Buffer.concat([Buffer.from("a"), Buffer.of(0xff), Buffer.from(".md")]), "x");
    return good();
  },
  deep: () => {
    const report = good();
    const script = "for i in $(seq 60); do mkdir $0 && cd $0 || exit 0; done; echo x > f.md";
    execFileSync("sh", ["-c", script, "d".repeat(100)], { stdio: "ignore" });
    return report;
  },
  git_name: () => {
    mkdirSync(".git ");
    writeFileSync(".git /x.md", "x");
    return good();
  },
  line_name: () => {
    writeFileSync("a\nGenerated-By: me.txt", "x");
    return good();
  },
  // Waits for the test, so that something can happen meanwhile.
  waits: async () => {
    appendFileSync("system/human.md", fact);
    writeFileSync(`${process.env.TRANSCRIPT_PATH}.waiting`, "");
    while (await Bun.file(`${process.env.TRANSCRIPT_PATH}.waiting`).exists()) await Bun.sleep(10);
    return "feat: Ann prefers tea";
  },
  payload: () => {
    const payload = JSON.parse(readFileSync(process.env.TRANSCRIPT_PATH!, "utf8"));
    const copy = JSON.stringify({ payload, prompt: launch.prompt, memory: process.env.MEMORY_DIR });
    writeFileSync("reference/copy.md", `---\ndescription: copy\n---\n${copy}\n`);
    return "feat: a copy";
  },
  many: () => {
    for (let i = 0; i < 600; i++) writeFileSync(`reference/${i}.md`, `---\ndescription: ${i}\n---\n`);
    return "feat: a lot";
  },
  crash: () => process.exit(7),
  never: () => new Promise(() => setInterval(() => {}, 1000)),
};

let text = "";
let turn = 0;
for await (const bytes of stdin) {
  text += Buffer.from(bytes).toString();
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n")) {
    const { message } = JSON.parse(text.slice(0, end));
    text = text.slice(end + 1);
    turn += 1;
    const result = await acts[kind]!(message.content, turn);
    process.stdout.write(
      `${JSON.stringify({ type: "result", is_error: false, result, num_turns: 1, usage: { total_tokens: 100 } })}\n`,
    );
  }
}
