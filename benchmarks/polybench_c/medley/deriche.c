/* PolyBench deriche: a recursive filter along the rows and then the columns of an image. */
#include <math.h>

void deriche(float imgIn[restrict W][H], float imgOut[restrict W][H]) {
    static float y1[W][H], y2[W][H];
    const double alpha = 0.25, decay = exp(-alpha);
    const double k = (1 - decay) * (1 - decay) / (1 + 2 * alpha * decay - decay * decay);
    const float a1 = k, a2 = k * decay * (alpha - 1), a3 = k * decay * (alpha + 1);
    const float a4 = -k * (decay * decay), b1 = pow(2.0, -alpha), b2 = -(decay * decay), c = 1;
    for (int i = 0; i < W; i++) {
        float ym1 = 0, ym2 = 0, xm1 = 0;
        for (int j = 0; j < H; j++) {
            y1[i][j] = a1 * imgIn[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = imgIn[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int i = 0; i < W; i++) {
        float yp1 = 0, yp2 = 0, xp1 = 0, xp2 = 0;
        for (int j = H - 1; j >= 0; j--) {
            y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = imgIn[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++) imgOut[i][j] = c * (y1[i][j] + y2[i][j]);
    for (int j = 0; j < H; j++) {
        float tm1 = 0, ym1 = 0, ym2 = 0;
        for (int i = 0; i < W; i++) {
            y1[i][j] = a1 * imgOut[i][j] + a2 * tm1 + b1 * ym1 + b2 * ym2;
            tm1 = imgOut[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int j = 0; j < H; j++) {
        float tp1 = 0, tp2 = 0, yp1 = 0, yp2 = 0;
        for (int i = W - 1; i >= 0; i--) {
            y2[i][j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2;
            tp2 = tp1;
            tp1 = imgOut[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++) imgOut[i][j] = c * (y1[i][j] + y2[i][j]);
}
