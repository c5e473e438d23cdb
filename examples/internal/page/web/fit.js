// A canvas whose own pixels follow its size on the page.

const mostRatio = 2; // screens have finer pixels yet, which only cost time

// fit gives a canvas as many pixels as the screen shows of it, now and whenever that
// changes. A new size clears the canvas, after this turn's picture: redraw makes it again.
export function fit(canvas, redraw) {
  const resize = () => {
    const ratio = Math.min(window.devicePixelRatio || 1, mostRatio);
    const width = Math.max(Math.round(canvas.clientWidth * ratio), 300);
    const height = Math.max(Math.round(canvas.clientHeight * ratio), 100);
    if (width === canvas.width && height === canvas.height) return;
    canvas.width = width;
    canvas.height = height;
    redraw();
  };
  new ResizeObserver(resize).observe(canvas);
  resize();
}
