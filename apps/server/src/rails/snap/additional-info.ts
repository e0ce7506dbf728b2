/** `additionalInfo` in a profile: constant text, and parameters from the operator's settings. */
export interface InfoTemplate {
  readonly [member: string]: string | InfoParameter | InfoTemplate;
}

export interface InfoParameter {
  /** Its name in the operator's settings. */
  readonly parameter: string;
  /** Matches the whole text of a valid value. */
  readonly pattern: RegExp;
}

type Members = { readonly [member: string]: string | Members };

/** The template's parameters that are missing or malformed, by name. */
export function faultyParameters(template: InfoTemplate | null, given: Readonly<Record<string, string>>): string[] {
  return parametersOf(template ?? {}).flatMap(({ parameter, pattern }) =>
    pattern.test(given[parameter] ?? '') ? [] : [parameter],
  );
}

/** Throws when a parameter is missing or malformed, which the rails file's reader has excluded. */
export function fillTemplate(template: InfoTemplate, given: Readonly<Record<string, string>>): Members {
  const faults = faultyParameters(template, given);
  if (faults.length > 0) throw new Error(`missing or malformed parameters of additionalInfo: ${faults.join(', ')}`);
  return fill(template, given);
}

function fill(template: InfoTemplate, given: Readonly<Record<string, string>>): Members {
  return Object.fromEntries(
    Object.entries(template).map(([name, member]) => {
      if (typeof member === 'string') return [name, member];
      return [name, isParameter(member) ? (given[member.parameter] ?? '') : fill(member, given)];
    }),
  );
}

const parametersOf = (template: InfoTemplate): InfoParameter[] =>
  Object.values(template).flatMap((member) => {
    if (typeof member === 'string') return [];
    return isParameter(member) ? [member] : parametersOf(member);
  });

const isParameter = (member: InfoParameter | InfoTemplate): member is InfoParameter => member.pattern instanceof RegExp;
