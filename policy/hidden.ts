/**
 * Characters that a person would not see, or that move others about: control and format characters, lone surrogates,
 * private use, line separators, and whatever Unicode says may be left out when shown. Unassigned ones are not among them:
 * they differ between versions of Unicode, and a text must be rendered to the same bytes everywhere.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\ufff0-\ufffb]/gu

/** Text with each hidden character as `\u{...}`; with `keepLines` line ends and tabs stay. */
export function withoutHidden(text: string, keepLines: boolean): string {
  return text.replace(hidden, character =>
    keepLines && (character === '\n' || character === '\t')
      ? character
      : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
