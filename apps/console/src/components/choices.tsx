/** Some of several values, by boxes that are checked. */
export function Choices<Value extends string>({
  title,
  values,
  chosen,
  onChange,
}: {
  readonly title: string;
  readonly values: readonly Value[];
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: readonly Value[]) => void;
}) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {values.map((value) => (
        <label key={value} class="choice">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(values.filter((each) => (each === value ? checked : chosen.includes(each))))
            }
          />
          {value}
        </label>
      ))}
    </fieldset>
  );
}

/** One of several values. */
export function Select<Value extends string>({
  title,
  values,
  chosen,
  onChange,
  textOf = (value) => value,
}: {
  readonly title: string;
  readonly values: readonly Value[];
  readonly chosen: Value;
  readonly onChange: (chosen: Value) => void;
  readonly textOf?: (value: Value) => string;
}) {
  return (
    <label>
      {title}
      <select
        value={chosen}
        onChange={({ currentTarget: { selectedIndex } }) => onChange(values[selectedIndex] ?? chosen)}
      >
        {values.map((value) => (
          <option key={value} value={value}>
            {textOf(value)}
          </option>
        ))}
      </select>
    </label>
  );
}
