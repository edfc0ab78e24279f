import * as v from "valibot";

/** `permissions.mode: Invalid type: …`: where a value breaks its schema, and how. */
export function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  return path ? `${path}: ${issue.message}` : issue.message;
}
