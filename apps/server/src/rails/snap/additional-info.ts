import type { Alias } from '../aliases.ts';

/** `additionalInfo` in a profile: constant text, parameters from the operator's settings, and parts of an alias. */
export interface InfoTemplate {
  readonly [member: string]: string | InfoParameter | InfoAliasPart | InfoTemplate;
}

/** In an inquiry by alias only. */
export interface InfoAliasPart {
  readonly ofAlias: keyof Alias;
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

/**
 * `alias` is required where the template has parts of one. Throws when a parameter is missing or malformed, which the
 * rails file's reader has excluded.
 */
export function fillTemplate(
  template: InfoTemplate,
  given: Readonly<Record<string, string>>,
  alias: Alias | null = null,
): Members {
  const faults = faultyParameters(template, given);
  if (faults.length > 0) throw new Error(`missing or malformed parameters of additionalInfo: ${faults.join(', ')}`);
  return fill(template, given, alias);
}

function fill(template: InfoTemplate, given: Readonly<Record<string, string>>, alias: Alias | null): Members {
  return Object.fromEntries(
    Object.entries(template).map(([name, member]) => {
      if (typeof member === 'string') return [name, member];
      if (isAliasPart(member)) return [name, alias?.[member.ofAlias] ?? ''];
      return [name, isParameter(member) ? (given[member.parameter] ?? '') : fill(member, given, alias)];
    }),
  );
}

const parametersOf = (template: InfoTemplate): InfoParameter[] =>
  Object.values(template).flatMap((member) => {
    if (typeof member === 'string' || isAliasPart(member)) return [];
    return isParameter(member) ? [member] : parametersOf(member);
  });

type InfoObject = InfoParameter | InfoAliasPart | InfoTemplate;

const isParameter = (member: InfoObject): member is InfoParameter =>
  'pattern' in member && member.pattern instanceof RegExp;

const isAliasPart = (member: InfoObject): member is InfoAliasPart =>
  typeof (member as InfoAliasPart).ofAlias === 'string';
