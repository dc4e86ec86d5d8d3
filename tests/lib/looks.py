"""What every page is asked in a browser, as expressions whose value is a list of what is wrong."""

WIDER_THAN_THE_WINDOW = """[...document.querySelectorAll('main *')].filter((one) =>
    !one.closest('.scroll, .plot, pre, svg') && one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.tagName + '.' + one.className)"""

TOO_PALE = """(() => {
  const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126*r + 0.7152*g + 0.0722*b; };
  const ground = (one) => { for (; one; one = one.parentElement) { const c = getComputedStyle(one).backgroundColor;
    if (!/, 0\\)$/.test(c) && c !== 'transparent') return c; } return 'rgb(255, 255, 255)'; };
  const bad = [];
  for (const one of document.querySelectorAll('p, dt, dd, td, th, li, small, .chip, h1, h2, h3, blockquote, a')) {
    if (one.closest('svg, .plot') || !one.textContent.trim() || one.closest('.heat td')) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push([one.tagName, one.className, ratio.toFixed(2)].join(' '));
  }
  return [...new Set(bad)];
})()"""
