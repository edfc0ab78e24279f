// `letta doctor`: looks at everything letta needs and says what is wrong and what to do. Only reads unless `--fix`.
// Exit code 0: healthy, 1: problems were found (and are still there after `--fix`).

import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { errorMessage, hintOf } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { findMode, PERMISSION_MODES } from "@/permissions/rules.ts";
import { backUpDatabase, checkStore, type Finding } from "@/store/doctor.ts";
import { openSettings, type SettingsStore } from "@/store/settings.ts";
import { VERSION } from "@/version.ts";
import { withCore } from "./context.ts";
import { checkProviders } from "./doctor-providers.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  meta: { description: "Check the database, settings, keys and helpers; --fix repairs what is safe" },
  args: {
    fix: { type: "boolean", description: "Repair what is safe to repair; the database is copied first" },
    yes: { type: "boolean", alias: "y", description: "With --fix: do not ask before replacing broken settings" },
    probe: { type: "boolean", description: "Also ask the connected model servers whether they answer" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runDoctor(core, args, io)),
});

export interface DoctorArgs extends OutputArgs {
  fix?: boolean;
  yes?: boolean;
  probe?: boolean;
}

export interface Report {
  version: string;
  healthy: boolean;
  findings: Omit<Finding, "repair">[];
  repairs: { id: string; description: string; done: boolean; text: string }[];
}

export async function runDoctor(core: Core, args: DoctorArgs, io: Io, now = Date.now): Promise<number> {
  return present(io, args, () => examine(core, args, io, now), {
    text: renderReport,
    exitCode: (report) => (report.healthy ? 0 : 1),
  });
}

async function examine(core: Core, args: DoctorArgs, io: Io, now: () => number): Promise<Report> {
  const { backendRepairs } = await import("@/backend/local/repairs.ts");
  const backend = backendRepairs(now);
  const look = async (settings = core.settings) => [
    ...(await checkStore({ paths: core.paths, settings, backend, now })),
    ...checkModes(settings),
    await checkRipgrep(core),
    ...(await checkProviders(core, args.probe === true)),
  ];
  let findings = await look();
  const repairs = args.fix ? await repairAll(core, findings, { yes: args.yes === true, io, now }) : [];
  if (repairs.some((repair) => repair.done)) {
    findings = await look(await openSettings({ paths: core.paths, cwd: core.cwd }));
  }
  return {
    version: VERSION,
    healthy: findings.every((finding) => finding.status !== "problem"),
    findings: findings.map(({ repair: _, ...shown }) => shown),
    repairs,
  };
}

/** A mode that is none parses, and the default is quietly in force instead. */
function checkModes(settings: SettingsStore): Finding[] {
  return (["user", "project", "local"] as const).flatMap((scope): Finding[] => {
    const mode = settings[scope].permissions?.mode;
    if (mode === undefined || findMode(mode)) return [];
    return [
      {
        id: `permissions.mode.${scope}`,
        status: "problem",
        text: `permissions.mode of the ${scope} settings is no mode: ${toPlainLine(mode)}`,
        hint: `Run \`letta config set permissions.mode MODE --scope ${scope}\`. Modes: ${PERMISSION_MODES.join(", ")}.`,
      },
    ];
  });
}

async function repairAll(
  core: Core,
  findings: Finding[],
  { yes, io, now }: { yes: boolean; io: Io; now: () => number },
): Promise<Report["repairs"]> {
  const repairs: Report["repairs"] = [];
  let backup: string | undefined;
  for (const { id, repair } of findings) {
    if (!repair) continue;
    const { description } = repair;
    try {
      if (repair.askFirst && !yes && !(await io.confirm?.(`${description}?`))) {
        repairs.push({
          id,
          description,
          done: false,
          text: "not done: it needs a yes (--yes, or an answer on a terminal)",
        });
        continue;
      }
      if (repair.database) backup ??= backUpDatabase(core.paths.database, now());
      repairs.push({ id, description, done: true, text: await repair.run() });
    } catch (error) {
      const text = ["failed:", errorMessage(error), hintOf(error)].filter(Boolean).join(" ");
      repairs.push({ id, description, done: false, text });
    }
  }
  if (backup)
    repairs.unshift({ id: "backup", description: "Copy the database", done: true, text: `Copied to ${backup}` });
  return repairs;
}

/** A copy of ours that was changed is no finding: it is replaced before it would be run. */
async function checkRipgrep(core: Core): Promise<Finding> {
  const id = "ripgrep";
  const { ripgrepBinary } = await import("@/tools/ripgrep-binary.ts");
  if (ripgrepBinary?.embedded) return { id, status: "ok", text: "searching uses the built-in ripgrep" };
  const found = ripgrepBinary?.path ?? Bun.which("rg", { PATH: core.env.all.PATH ?? "" });
  if (found) return { id, status: "ok", text: `searching uses ${found}` };
  return { id, status: "note", text: "no ripgrep here: searching works, but slower", hint: "Install ripgrep." };
}

function renderReport({ version, healthy, findings, repairs }: Report): string {
  const marks = { ok: "ok     ", note: "note   ", problem: "PROBLEM" };
  const lines = findings.flatMap(({ status, text, hint }) => [
    `${marks[status]}  ${toPlainLine(text)}`,
    ...(hint && status !== "ok" ? [`         ${toPlainLine(hint)}`] : []),
  ]);
  const done = repairs.map(
    (repair) => `${repair.done ? "fixed  " : "not    "}  ${repair.description}: ${toPlainLine(repair.text)}`,
  );
  const problems = findings.filter((finding) => finding.status === "problem").length;
  const verdict = healthy ? "Everything is in order." : `${plural(problems, "problem")} found.`;
  return `${[`letta ${version}`, ...done, ...lines, verdict].join("\n")}\n`;
}
