/** Where callbacks may be sent. The addresses are those that clients register: whoever has a client can write any. */
export interface OutboundPolicy {
  /** Ports that an https URL may name. */
  readonly ports: readonly number[];
  /**
   * Networks in CIDR notation, or single addresses, that are permitted although they are not public: for operators whose
   * receivers are internal. Where it is not empty, names that mean something only inside a network are permitted too.
   */
  readonly allowed: readonly string[];
  /** For the sandbox: http, and any port, to this machine itself. */
  readonly loopbackHttp: boolean;
}

/** What a service on the internet permits: https to public addresses. */
export const PUBLIC_ONLY: OutboundPolicy = { ports: [443, 8443], allowed: [], loopbackHttp: false };
