// font is what is written over the picture, size in the context's pixels.
export const font = (size, weight = 800) => `italic ${weight} ${size}px "Avenir Next Condensed", "Roboto Condensed", "Liberation Sans Narrow", system-ui, sans-serif`;
