/** What the colors of an overlay mean. */
import type { Overlay } from "../overlay";
import { totalOf } from "../overlay_index";
import { GLYPHS } from "../paint/theme";

export function Legend({ overlay }: { overlay: Overlay }) {
  return (
    <aside class="graph-legend" aria-label="Legend">
      <h3>{overlay.title}</h3>
      {overlay.values ? (
        <div class="scale">
          <span>0</span>
          {[0, 1, 2, 3, 4, 5].map((k) => <span class="step" style={{ background: `var(--graph-heat-${k})` }} />)}
          <span>{total(overlay)} {overlay.unit}</span>
        </div>
      ) : (
        <ul>
          {overlay.legend.map(({ label, tone }) => (
            <li>
              <span class="glyph" aria-hidden="true" style={{ background: `var(--graph-${tone})` }}>{GLYPHS[tone]}</span>
              <span>{label}</span>
            </li>
          ))}
        </ul>
      )}
    </aside>
  );
}

function total(overlay: Overlay): string {
  const sum = totalOf(overlay);
  return sum >= 100 ? sum.toFixed(0) : sum.toPrecision(2);
}
