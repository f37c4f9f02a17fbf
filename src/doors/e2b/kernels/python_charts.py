# SPDX-License-Identifier: Apache-2.0
"""The data of a figure of matplotlib's, as the charts of the wire. It is part of the kernel in python.py, which it comes before."""


def _chart_of(figure):
    charts = [chart for chart in map(_chart_of_axes, figure.axes) if chart]
    if not charts and figure.axes:
        return {"type": "unknown", "title": figure.axes[0].get_title() or None, "elements": []}
    if len(charts) <= 1:
        return charts[0] if charts else None
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return {"type": "superchart", "title": title, "elements": charts}


def _chart_of_axes(axes):
    from matplotlib.collections import PathCollection
    from matplotlib.patches import PathPatch, Wedge
    kind = {"title": axes.get_title() or None}
    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if wedges:
        return {"type": "pie"} | kind | {"elements": [
            {"label": wedge.get_label(), "angle": round(abs(wedge.theta2 - wedge.theta1), 4), "radius": wedge.r} for wedge in wedges]}
    sides = kind | {"x_label": axes.get_xlabel() or None, "y_label": axes.get_ylabel() or None,
                    "x_unit": _unit(axes.get_xlabel()), "y_unit": _unit(axes.get_ylabel())}
    boxes = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    if boxes or _looks_like_boxes(axes):
        return {"type": "box_and_whisker"} | sides | {"elements": _boxes(axes)}
    bars = [container for container in axes.containers if type(container).__name__ == "BarContainer"]
    if bars:
        return {"type": "bar"} | sides | {"elements": [
            bar for container in bars for bar in _bars(axes, container)]}
    scales = sides | {"x_scale": _scale(axes.xaxis), "y_scale": _scale(axes.yaxis),
                      "x_ticks": _ticks(axes.xaxis), "y_ticks": _ticks(axes.yaxis),
                      "x_tick_labels": [label.get_text() for label in axes.get_xticklabels()],
                      "y_tick_labels": [label.get_text() for label in axes.get_yticklabels()]}
    if axes.lines:
        return {"type": "line"} | scales | {"elements": [
            {"label": line.get_label(), "points": _points(line.get_xdata(), line.get_ydata())} for line in axes.lines]}
    clouds = [part for part in axes.collections if isinstance(part, PathCollection)]
    if clouds:
        return {"type": "scatter"} | scales | {"elements": [
            {"label": cloud.get_label(), "points": [list(map(float, point)) for point in cloud.get_offsets()]} for cloud in clouds]}
    return None


def _unit(label):
    """What a label has in brackets at its end."""
    head, bracket, rest = (label or "").rpartition("(")
    return rest[:-1] if bracket and rest.endswith(")") else None


def _scale(axis):
    """What the axis has been given, or how it is spaced."""
    converter = type(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter).__name__
    if "Date" in converter:
        return "datetime"
    if converter == "StrCategoryConverter":
        return "categorical"
    name = axis.get_scale()
    return name if name in ("linear", "log", "symlog", "logit", "function", "functionlog", "asinh") else "unknown"


def _ticks(axis):
    places = axis.get_ticklocs()
    if _scale(axis) != "datetime":
        return _values(places)
    from matplotlib.dates import num2date
    return _values(num2date(places))


def _value(item):
    if type(item).__name__ == "datetime64":
        return str(item)  # with its unit, which its number has not
    item = item.item() if hasattr(item, "item") else item
    return item.isoformat() if hasattr(item, "isoformat") else item if isinstance(item, (int, float)) else str(item)


def _values(items):
    return [_value(item) for item in items]


def _points(xs, ys):
    return [[_value(x), _value(y)] for x, y in zip(xs, ys)]


def _bars(axes, container):
    across = getattr(container, "orientation", "vertical") == "vertical"
    axis = axes.xaxis if across else axes.yaxis
    names = {round(float(at), 6): label.get_text() for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels())}
    for bar in container:
        middle = bar.get_x() + bar.get_width() / 2 if across else bar.get_y() + bar.get_height() / 2
        value = bar.get_height() if across else bar.get_width()
        yield {"label": names.get(round(float(middle), 6)) or _value(middle), "group": container.get_label(), "value": _value(value)}


def _looks_like_boxes(axes):
    """boxplot() draws lines alone: five of four corners, whiskers, caps and a median for each box."""
    return len(axes.lines) >= 6 and any(len(line.get_xdata()) == 5 for line in axes.lines)


def _boxes(axes):
    boxes = [line for line in axes.lines if len(line.get_xdata()) == 5]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    found = []
    for place, box in enumerate(boxes):
        left, right = min(box.get_xdata()), max(box.get_xdata())
        inside = [line for line in axes.lines if line is not box and len(line.get_xdata())
                  and left - 1e-9 <= min(line.get_xdata()) and max(line.get_xdata()) <= right + 1e-9]
        first, third = min(box.get_ydata()), max(box.get_ydata())
        # As wide as the box; the ends of whiskers are narrower.
        median = [line.get_ydata()[0] for line in inside if len(line.get_xdata()) == 2
                  and abs(max(line.get_xdata()) - min(line.get_xdata()) - (right - left)) < 1e-9]
        whiskers = [y for line in inside if len(line.get_ydata()) == 2 for y in line.get_ydata()]
        outliers = [y for line in inside if line.get_linestyle() == "None" for y in line.get_ydata()]
        ends = [first, third, *whiskers]
        found.append({"label": labels[place] if place < len(labels) else str(place + 1), "min": _value(min(ends)),
                      "first_quartile": _value(first), "median": _value(median[0] if median else first),
                      "third_quartile": _value(third), "max": _value(max(ends)), "outliers": _values(outliers)})
    return found
