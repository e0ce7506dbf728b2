import { JAKARTA_OFFSET_MS } from '../../domain/instant.ts';

/** `CreDtTm`: the hub's local time, Jakarta's, `yyyy-MM-ddTHH:mm:ss` without a zone. */
export const timeAtHub = (atMs: number): string => new Date(atMs + JAKARTA_OFFSET_MS).toISOString().slice(0, 19);

/** The date in identifiers, `yyyyMMdd`: the hub's day, because serials are unique within it. */
export const dayAtHub = (atMs: number): string => timeAtHub(atMs).slice(0, 10).replaceAll('-', '');

/** `CreDt` of the header: UTC, `yyyy-MM-ddTHH:mm:ssZ` (ISO 20022 head.001, ISONormalisedDateTime). */
export const utcTime = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;
